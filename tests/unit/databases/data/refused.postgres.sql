select ('s'::regclass).nextval
select x.nextval from unnest(array['s'::regclass]) x
select x."nextval" from unnest(array['s'::regclass]) x
select x."pg_sleep" from generate_series(1.0::float8,2) x
select (1::float8).pg_sleep
select (('s'::regclass)).nextval
select (select 's'::regclass).nextval
select (array['s'::regclass])[1].nextval
select ((array['s'::regclass])[1]).nextval
select (row('s'::regclass)).f1.nextval
select ((row('s'::regclass)).f1).nextval
select x.*, x.lo_creat from generate_series(1,1) x
select 1 from generate_series(1,1) x where x.lo_creat > 0
select 1 from generate_series(1,1) x order by x.lo_creat
select 1 from generate_series(1,1) x group by x.lo_creat
select 1 from t join lateral (select x.lo_creat from generate_series(1,1) x) y on true
select "pg_sleep"(1)
select "pg_catalog"."pg_sleep"(1)
select pg_catalog . pg_sleep (1)
select pg_catalog/**/./**/pg_sleep/**/(1)
select "PG_SLEEP"(1)
select U&"pg\005fsleep"(1)
select U&"pg!005fsleep" UESCAPE '!' (1)
select postgres.pg_catalog.pg_sleep(1)
select * from pg_sleep(1)
select * from rows from (pg_sleep(1))
select * from rows from (generate_series(1,2), nextval('s'))
select * from lateral pg_sleep(1)
select * from generate_series(1,2), lateral nextval('s')
select * from generate_series(1, nextval('s'))
select count(*) filter (where pg_sleep(1) is null)
select count(*) over (order by nextval('s'))
select count(*) over (w) from t window w as (order by nextval('s'))
select 1 limit nextval('s')
select 1 offset (select nextval('s'))
select 1 order by nextval('s')
select case when true then nextval('s') end
select array[nextval('s')]
select array(select nextval('s'))
select row(nextval('s'))
select (nextval('s'), 1)
select nextval('s')::text
select cast(nextval('s') as text)
select extract(epoch from to_timestamp(nextval('s')))
select trim(both from pg_read_file('/etc/passwd'))
select substring(pg_read_file('x') from 1 for 2)
select position('a' in pg_read_file('/etc/passwd'))
select overlay(pg_read_file('x') placing 'a' from 1)
select string_agg(pg_read_file('x'), ',')
select coalesce(nextval('s'), 1)
select a in (nextval('s')) from t
select a between 1 and nextval('s') from t
select a = any(array[nextval('s')]) from t
select a like pg_read_file('x') from t
select make_interval(mins => nextval('s')::int)
select format('%s', variadic array[nextval('s')::text])
select 'x' collate "C" || nextval('s')
select - nextval('s')
select not nextval('s') > 0
select nextval('s') at time zone 'utc'
select interval '1 day' * nextval('s')
values (nextval('s'))
table t union select nextval('s')
with a as (select nextval('s')) select * from a
with recursive a(n) as (select 1 union all select nextval('s') from a where n < 2) select * from a
with a as (insert into t values (1) returning *) select * from a
with a as materialized (delete from t returning *) table a
with a as (select 1), b as (update t set a=1 returning *) select * from b
select * from (delete from t returning *) x
select * from (with a as (delete from t returning *) select * from a) x
select (with a as (delete from t returning 1) select * from a)
select exists(with a as (delete from t returning 1) select * from a)
explain (analyze) select 1
explain (analyze on) select 1
explain (analyze 1) select 1
explain (analyze true, verbose) select 1
explain (verbose, analyze) select 1
explain (analyze false, analyze) select 1
explain (analyze false, analyze true) select 1
explain (ANALYZE/**/) select 1
explain ("analyze") select 1
explain ('analyze') select 1
explain analyse select 1
explain/**/analyze select 1
explain analyze verbose select 1
explain verbose analyze select 1
explain (verbose) analyze delete from t
explain execute p
explain declare c cursor for select 1
explain create table x as select 1
explain select 1; delete from t
explain (format json) explain analyze select 1
explain with a as (delete from t returning *) select * from a
show work_mem; drop table t
show all; select 1
show "x"; drop table t
select 1; select 2
select 1;;select 2
;select 1; drop table t
select 1 /* ; */ ; drop table t
select $$a$$; drop table t
select $a$ $$ ; $a$; drop table t
select 'a\'; drop table t; --'
select U&'a\'; drop table t; --'
select * into x from t
select 1 as a into x
select into x from t
select * into temp x from t
select * into unlogged x from t
with a as (select 1) select * into x from a
(select * into x from t)
select 1 union select * into x from t
select * from t for update
select * from t for share nowait
select * from t for no key update
select * from t for key share of t
(select * from t for update)
select * from (select * from t for update) x
with a as (select * from t for update) select * from a
select * from t where a in (select a from t for update)
create table x as select 1
copy t to program 'id'
copy (select 1) to '/tmp/x'
copy (delete from t returning *) to stdout
do $$begin delete from t; end$$
call p()
execute p
prepare p as delete from t
declare c cursor with hold for select 1
listen x
notify x
vacuum
analyze t
lock table t
set role postgres
set local role postgres
reset all
discard all
begin; delete from t
refresh materialized view m
import foreign schema x from server y into z
security label on table t is 'x'
comment on table t is 'x'
checkpoint
load 'x'
cluster t
reindex table t
truncate t
grant select on t to public
select query_to_xml('delete from t', true, true, '')
select table_to_xml('t', true, true, '')
select database_to_xml(true,true,'')
select cursor_to_xml('c', 1, true, true, '')
select ts_stat('select 1')
select * from ts_stat('delete from t')
select ts_rewrite('a'::tsquery, 'select 1')
select dblink('x','y')
select * from dblink_exec('x','delete from t')
select lo_import('/etc/passwd')
select lo_from_bytea(0,'x')
select lo_put(1,0,'x')
select pg_advisory_lock(1)
select pg_try_advisory_xact_lock(1)
select pg_notify('a','b')
select pg_reload_conf()
select pg_rotate_logfile()
select pg_create_restore_point('x')
select pg_logical_emit_message(false,'a','b')
select pg_export_snapshot()
select pg_stat_reset()
select pg_current_xact_id()
select txid_current()
select setseed(0.5)
select pg_promote()
select pg_backup_start('x')
select brin_summarize_new_values('i'::regclass)
select pg_import_system_collations('pg_catalog')
select currtid2('t','(0,1)')
select pg_stat_file('/etc/passwd')
select pg_ls_logdir()
select * from pg_ls_waldir()
select pg_read_binary_file('x')
select pg_file_write('x','y',true)
select pg_create_physical_replication_slot('x')
select pg_drop_replication_slot('x')
select pg_wal_replay_pause()
select pg_switch_wal()
select pg_cancel_backend(1)
select pg_log_backend_memory_contexts(1)
select binary_upgrade_set_next_pg_type_oid(1)
select set_config('search_path','x',false)
select pg_extension_config_dump('t','')
select rolpassword from pg_authid
select * from pg_catalog.pg_shadow
select * from "pg_catalog"."pg_authid"
select a operator(public.@@@) b from t
select a OPERATOR("public".=) b from t
select public.lower('x')
select public."lower"('x')
select "public".count(*) from t
select information_schema.evil()
select pg_temp.evil()
select 1 where current of c
select $1
select :a
select @a
select %s
select * from t where a = ?
select xmlparse(document '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>')
select 1 union (delete from t returning 1)
select lastval(), nextval('s'::text)
select "nextval" ('s')
select NEXTVAL/*x*/('s')
select neXtvaL('s')
select ｎextval('s')
select nextval​('s')
merge into t using t u on true when matched then delete
table t; delete from t
values (1); delete from t
select has_table_privilege(nextval('s')::text, 'x')
select json_build_object('a', nextval('s')) -> 'a'
select jsonb_path_query('[1]', '$.x')  , lo_unlink(1)
select x from xmltable('/a' passing query_to_xml('delete from t',true,true,'') columns b int path 'b') x
select * from json_table('{}', '$' columns (a int path '$'))
select grouping(nextval('s')) from t
select distinct on (nextval('s')) a from t
select a from t tablesample system (nextval('s'))
select a from t tablesample evil (1)
select a[nextval('s')] from (select array[1,2] a) x
select a[1:nextval('s')] from (select array[1,2] a) x
select exists (select nextval('s'))
select t from t where row(t.*) = row(nextval('s'))
select count(distinct nextval('s'))
select within.nextval from t within
select (t.a).nextval from t
select (t).nextval from t
select public.t.nextval from public.t
select a::regclass::text, (a::regclass).nextval from t
select x.query_to_xml from t x
select x.dblink_exec from (select 'x'::text) x
select (('x'::text)).dblink_exec
SELECT public.('counter'::regclass).nextval
SELECT public.(i).evil_row FROM items i
select pg_catalog.(x).nextval from t x
