select count(*) as used, current_setting('max_connections')::int as limit_,
       round(100.0 * count(*) / current_setting('max_connections')::int) as pct
from pg_stat_activity where backend_type = 'client backend'
;
select pid, coalesce(usename, '?') as who, state,
       round(extract(epoch from now() - xact_start) / 60) as minutes
from pg_stat_activity
where xact_start is not null and backend_type = 'client backend' and pid <> pg_backend_pid()
  and now() - xact_start >= make_interval(mins => 0)
order by minutes desc
;
select pid, (pg_blocking_pids(pid))[1] as blocker,
       round(extract(epoch from now() - state_change)) as seconds
from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0
;
select schemaname || '.' || relname as tbl, n_dead_tup as dead, n_live_tup as live,
       round(100.0 * n_dead_tup / nullif(n_dead_tup + n_live_tup, 0)) as pct,
       coalesce(to_char(greatest(last_vacuum, last_autovacuum), 'YYYY-MM-DD'), 'never') as vacuumed
from pg_stat_user_tables where n_dead_tup >= 10000
;
select n.nspname || '.' || c.relname as tbl, greatest(c.reltuples, 0)::bigint as about
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast'
  and not exists (select 1 from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')
order by about desc
;
select k.conrelid::regclass::text as tbl, k.conname as fk,
       (select string_agg(a.attname, ', ' order by o) from unnest(k.conkey) with ordinality u(num, o)
          join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num) as cols
from pg_constraint k
where k.contype = 'f' and not exists (
  select 1 from pg_index i where i.indrelid = k.conrelid and i.indisvalid
    and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)
;
select s.indexrelid::regclass::text as idx, s.relname as tbl,
       round(pg_relation_size(s.indexrelid) / 1048576.0, 1) as mb
from pg_stat_user_indexes s join pg_index i using (indexrelid)
where s.idx_scan = 0 and not i.indisunique and pg_relation_size(s.indexrelid) >= 1 * 1048576
order by mb desc
;
select s.schemaname || '.' || s.sequencename as seq, s.last_value,
       case when d.typ in ('integer', 'smallint') then 2147483647 else s.max_value end as end_,
       round(100.0 * s.last_value / case when d.typ in ('integer', 'smallint') then 2147483647 else s.max_value end) as pct
from pg_sequences s left join lateral (
  select format_type(a.atttypid, null) as typ from pg_depend p
    join pg_attribute a on a.attrelid = p.refobjid and a.attnum = p.refobjsubid
  where p.objid = (quote_ident(s.schemaname) || '.' || quote_ident(s.sequencename))::regclass
    and p.deptype in ('a', 'i') limit 1) d on true
where s.last_value is not null
;
select extract(day from now() - coalesce(stats_reset, pg_postmaster_start_time()))::int from pg_stat_database where datname = current_database()
;
select round(pg_database_size(current_database()) / 1048576.0)
