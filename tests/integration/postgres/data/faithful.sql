select 2^3, 2^3^2, -2^2, 5%3, 7/2, 7/2.0, 10-2-3, 1||'2', 'a'||'b'='ab', not 1=2, 1 << 2 + 1, 5 & 3, 5 | 3, 5 # 3, ~5, 17 & 3 = 1
;
select -5 % 3, -5 / 2, - 2 + 3, 1 - -1, - -1, 1 - (2 - 3), 2*(3+4), @ -5
;
select 'a\b', E'a\nb', E'\\', E'\'', E'\x41\101\u0041', 'it''s', $$a'b$$, $x$a$$b$x$, U&'d\0061t', '%s', '%', '{{}}', 'é中文'
;
select E'a\\', E'\\''x', E'a\b\f\r\t', e'\U00000041', '\', '\\'
;
select 'a' || E'\\' || ' -- x /* y */ '
;
select now() = now(), current_date is not null, date_trunc('month', timestamp '2020-05-17'), extract(epoch from interval '1 day'), extract(dow from date '2020-01-01'), date_part('year', date '2020-01-01'), age(date '2020-01-02', date '2020-01-01')
;
select interval '1' day, interval '1 day 2 hours', '1 day'::interval, interval '1-2' year to month, interval '90' minute, make_interval(mins => 5), make_interval(1,2), interval '1 month' * 2, now() - interval '1 day' < now()
;
select timestamp '2020-01-01 10:00', timestamptz '2020-01-01 10:00+02', timestamp with time zone '2020-01-01', time '10:00', timestamp '2020-01-01' at time zone 'UTC', date '2020-01-01' + 1, '2020-01-01'::date - '2019-01-01'::date, to_char(timestamp '2020-01-01', 'YYYY-MM-DD HH24:MI'), timestamp(0) '2020-01-01 10:00:00.6'
;
select '1'::int, '1.5'::numeric(10,1), 'abc'::varchar(2), 'abc'::char(5), 'a'::"char", 1::bool, '{1,2}'::int[], '[1,5)'::int4range, 'pg_class'::regclass, 'x'::name, 1::oid, 'a'::text, '1'::double precision, 1::real, '\x01'::bytea, '1'::bigint, '101'::bit(3), '101'::bit varying, '{"a":1}'::json, '{"a":1}'::jsonb, 't'::boolean, '1'::smallint, '12:00'::time, '<a/>'::xml, '127.0.0.1'::inet, '1'::money, 'a'::citext
;
select cast('1' as int), cast('1.50' as decimal), cast(1.5 as integer), cast('x' as character varying), cast(null as text), int '5', numeric '1.5', float8 '2.5', text 'abc', bool 't', json '{"a":1}', regclass 'pg_class'
;
select a, b from t order by a
;
select a from t order by a desc
;
select a from t order by a nulls first, b desc nulls last
;
select a from t order by 1 limit 2 offset 1
;
select a from t order by a fetch first 2 rows only
;
select a from t order by a offset 1 rows fetch next 1 row only
;
select distinct on (b) b, a from t order by b, a
;
select count(*), count(a), count(distinct b), sum(a), avg(a), min(b), max(b), string_agg(b, ',' order by b desc), array_agg(a order by a), array_agg(distinct b order by b), bool_and(a>0), every(a>0), count(*) filter (where a > 1), json_agg(b order by b), jsonb_object_agg(a, b) filter (where a is not null) from t
;
select string_agg(distinct b, ';'), string_agg(b::text, ', ') from t where a = 1
;
select percentile_cont(0.5) within group (order by a), percentile_disc(array[0.25,0.5]) within group (order by a), mode() within group (order by b) from t
;
select a, row_number() over (order by a), sum(a) over (partition by b order by a rows between unbounded preceding and current row), lag(a, 1, 0) over w, first_value(a) over w from t window w as (order by a) order by a
;
select a, count(*) over (order by a range between 1 preceding and 1 following exclude current row), sum(a) over (order by a groups between 1 preceding and unbounded following) from t order by a
;
select b, count(*), grouping(b) from t group by rollup(b) order by b nulls last
;
select a, b, count(*) from t group by grouping sets ((a), (b), ()) order by 1,2,3
;
select a,b,count(*) from t group by cube(a,b) order by 1,2,3
;
select x.* from (values (1,'a'),(2,null)) as x(n,s)
;
values (1,'a'),(2,'b')
;
table t
;
with a as (select 1 as x), b(y) as materialized (select x+1 from a), c as not materialized (table t) select * from a, b, c order by 1,2,3
;
with recursive c(n) as (select 1 union all select n+1 from c where n < 5) select sum(n) from c
;
with recursive c(n) as (values (1) union select n+1 from c where n < 5) select * from c
;
select 1 union all select 2 union select 1 order by 1
;
select 1 union select 2 intersect select 3
;
(select 1 union select 2) intersect select 1
;
select 1 except (select 2 union select 1)
;
(select a from t order by a limit 1) union all (select a from t order by a desc limit 1)
;
select * from t p join t q on p.a=q.a left join t r using (a) where p.a is not null order by 1,2,3
;
select * from t p natural join t q order by 1
;
select * from t p left join (t q join t r on q.a=r.a) on p.a=q.a order by p.a
;
select * from t p, lateral (select p.a+1 as z) l order by 1
;
select * from t p cross join lateral generate_series(1, p.a) g order by 1,2,3
;
select * from t p left join lateral unnest(array[p.a, 2]) with ordinality u(v, o) on true order by 1,2,3
;
select * from unnest(array[1,2], array['a','b']) as u(x,y)
;
select * from rows from (generate_series(1,3), generate_series(1,2)) as x(a,b)
;
select generate_series(1,3), unnest(array[1,2])
;
select * from json_to_recordset('[{"a":1,"b":"x"}]') as x(a int, b text)
;
select * from json_each('{"a":1}')
;
select j -> 'a.b', j -> 'a' -> 'b', j ->> 'x', j #> '{a,b}', j #>> '{x,1}', j -> 'x' -> 0, j -> 'x' ->> 1, j -> '0', j -> 'x' -> -1, j -> '$.a', j ->> 'a b', (j -> 'x')[0], j['a']['b'], j - 'a', j #- '{a}', j || '{"z":1}' from jt
;
select j ? 'a', j ?| array['a','z'], j ?& array['a','x'], j @> '{"0":5}', '{"a":1}' <@ '{"a":1,"b":2}'::jsonb, j @? '$.x[*]', j @@ '$.0 == 5', jsonb_path_query_array(j, '$.x[*] ? (@ > 1)') from jt
;
select j->'a' = '{"b": 2}' and j ? 'a', j->>'0' || 'x', (j->>'0')::int + 1, j->'x'->0 is not null from jt
;
select a is distinct from b::int, a is not distinct from 1, a is null, a is not null, a isnull, a notnull, (a>1) is true, (a>1) is not true, (a>1) is unknown, (a>1) is not unknown, not (a>1) is false from (select a, case when b='5' then b end as b from t) t order by 1
;
select a in (1,2), a not in (1,2), a between 1 and 2, a not between 1 and 2, a between symmetric 2 and 1, b like 'x%', b not like 'x%', b ilike 'X%', b like 'x!%' escape '!', b similar to '(x|y)', b not similar to 'x', b ~ 'x', b ~* 'X', b !~ 'x', b !~* 'X' from t order by a
;
select b ~~ 'x', b !~~ 'x', b ~~* 'X', b ^@ 'x' from t order by a
;
select a = any(array[1,2]), a = any('{1,2}'::int[]), a <> all(array[1,2]), a = some(array[1]), a > any(select 1), a = all(select 1), exists(select 1), a in (select 1), (a,b) in (select 1,'x'), (a, b) = (1, 'x'), row(a,b) = row(1,'x'), (a,b) < (2,'z') from t order by t.a
;
select array[1,2,3], array[[1,2],[3,4]], (array[1,2,3])[2], (array[1,2,3])[1:2], (array[1,2,3])[:2], (array[1,2,3])[2:], array(select a from t order by a), array[1,2] || 3, array[1,2] @> array[1], array[1] <@ array[1,2], array[1,2] && array[2,3], array[]::int[], cardinality(array[1,2]), array_length(array[1],1), '[0:1]={1,2}'::int[]
;
select coalesce(null,1), nullif(1,1), greatest(1,2), least(1,2), case when 1=1 then 'x' else 'y' end, case 1 when 1 then 'a' when 2 then 'b' end, case when true then null end
;
select trim('  x '), trim(both 'x' from 'xxaxx'), trim(leading 'x' from 'xxa'), trim(trailing from 'a  '), trim('x' from 'xax'), btrim('xax','x'), ltrim('xa','x'), substring('hello' from 2 for 3), substring('hello' from 2), substring('hello' for 2), substring('hello' from 'l+'), substring('hello', 2, 2), substr('hello',2), position('l' in 'hello'), strpos('hello','l'), overlay('hello' placing 'xx' from 2 for 1), upper('a'), initcap('ab cd'), left('abc',2), right('abc',-1), lpad('a',3,'x'), repeat('ab',2), reverse('ab'), split_part('a,b',',',2), format('%s %I %L', 'a', 'b', 'c'), concat('a',null,1), concat_ws(',','a','b'), regexp_replace('aaa','a','b','g'), regexp_match('foobar','o(b)'), md5('a'), encode('a'::bytea,'hex'), to_hex(255), ascii('a'), chr(65), quote_ident('a b'), quote_literal('a''b'), translate('abc','ab','xy'), char_length('abc'), octet_length('é'), starts_with('abc','a'), to_number('12','99'), regexp_split_to_array('a b',' ')
;
select 'a' similar to 'a' escape '\', 'abc' like 'a_c', 'a%' like 'a\%', 'x' like 'X' collate "C", 'a' < 'B' collate "C", 'x' collate pg_catalog."C"
;
select t from t order by 1
;
select t.*, (t).a, row(t.*) from t order by 1
;
select (row(1,2)).f1
;
select (aclexplode(relacl)).grantee from pg_class where relacl is not null order by 1 limit 1
;
select current_user, session_user, user, current_catalog, current_schema, current_database(), version() like 'Post%', current_setting('server_version_num')::int > 1, pg_backend_pid() > 0, current_role, current_schemas(true)
;
select localtime is not null, localtimestamp is not null, current_time is not null, current_timestamp(0) is not null, localtimestamp(0) is not null, clock_timestamp() > now() - interval '1h'
;
select b'101', x'1f', B'1'::bit(4), 1e3, 1.5e-2, .5, 5., 12345678901234567890, 0.10
;
select 1_000
;
select 0x1f
;
select 'a'
'b'
;
select "a" as "A b", b as "select", a "from", a as c from t order by 1
;
select a b from t order by 1
;
select a as value, b name, 1 as type, 2 as key, 3 as date, 4 as "user", 5 as row, 6 as index, 7 as "limit" from t order by 1
;
select a and b, a or b and not c, not a and b, (a or b) and c from (values (true,false,null::bool),(null,true,false)) v(a,b,c)
;
select sum(a) from t having count(*) > 1
;
select b, max(a) from t group by 1 having max(a) > 0 order by max(a) desc, b
;
select all a from t order by all a
;
select * from only t order by a
;
select * from t tablesample system (100) repeatable (1) order by a
;
select * from t as x (p, q) order by p
;
select n.nspname || '.' || c.relname as tbl, greatest(c.reltuples, 0)::bigint as about from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast' and not exists (select 1 from pg_constraint k where k.conrelid = c.oid and k.contype = 'p') order by tbl
;
select relname from pg_class c where oid = 'pg_class'::regclass and relkind = any (array['r','v'])
;
select c.oid::regclass, pg_size_pretty(0::bigint), obj_description(c.oid, 'pg_class') from pg_class c where relname = 'pg_class'
;
select format_type(atttypid, atttypmod), col_description(attrelid, attnum) from pg_attribute where attrelid = 'pg_class'::regclass and attnum > 0 order by attnum limit 2
;
select x from generate_series(timestamp '2020-01-01', timestamp '2020-01-03', interval '1 day') as x
;
select '[2020-01-01,2020-02-01)'::daterange @> date '2020-01-05', int4range(1,5) && int4range(4,8), int4range(1,3) -|- int4range(3,5), int4range(1,3) << int4range(4,5), upper(int4range(1,5))
;
select point(1,2) <-> point(3,4), '((0,0),(1,1))'::box @> '(0.5,0.5)'::point, '10.0.0.1'::inet << '10.0.0.0/8'::inet, '10.0.0.0/8'::cidr >>= '10.1.0.0/16'
;
select to_tsvector('english','a fat cat') @@ to_tsquery('english','cat & fat'), to_tsvector('simple','a b') || to_tsvector('simple','c'), ts_rank(to_tsvector('cat'), to_tsquery('cat'))
;
select xmlelement(name foo, 'x'), xpath('/a/text()', '<a>b</a>')
;
select overlaps(timestamp '2020-01-01', timestamp '2020-01-05', timestamp '2020-01-03', timestamp '2020-01-08'), (date '2020-01-01', date '2020-01-05') overlaps (date '2020-01-03', date '2020-01-08')
;
select |/ 25, ||/ 27, 5 !
;
select @ (-5)
;
select 5 operator(pg_catalog.+) 3
;
select '1'::int::text::varchar || 'x', -'5'::int, - 5::text || '', (1+2)::text, array['1']::int[], a::text || b from t order by 3
;
select a is null or b = 'x', a is null = false from t
;
select not b like 'x' = true from t
;
select 2 between 1 and 3 and true, not 2 between 1 and 3, 1 + 1 in (2), 'a' || 'b' in ('ab'), 'a' || 'b' like 'a%', 1 < 2 = true, not true = false
;
select case a when 1 then 'x' else b end || '!' , (select max(a) from t) + 1, exists (select 1 from t where false) or true from t order by 1
;
select count(*) from t where a = (select min(a) from t) and b is not null or exists (select from t)
;
select from t
;
select extract(year from current_date) > 2000, extract('epoch' from timestamptz '2020-01-01 00:00+00'), extract(day from now() - now())::int
;
select date '2020-01-01' + interval '1 day' * 3, interval '1 day' + interval '2 hours', date '2020-01-01' - 1, timestamp '2020-01-01' + '1 day', now() > '2020-01-01'
;
select pg_typeof(1), pg_typeof(1.5), pg_typeof('a'), pg_typeof(now()), pg_typeof(2^3), pg_typeof(null), pg_typeof(7/2), pg_typeof(interval '1 day'), pg_typeof(array[1]), pg_typeof(1e3), pg_typeof(current_date), pg_typeof('a'::varchar(3)), pg_typeof(timestamp '2020-01-01'), pg_typeof(timestamp with time zone '2020-01-01'), pg_typeof(time '10:00'), pg_typeof(time with time zone '10:00'), pg_typeof('1'::float(10)), pg_typeof('1'::float), pg_typeof('x'::character(3)), pg_typeof('x'::bpchar), pg_typeof(1::int8), pg_typeof('1'::timestamp(3)), pg_typeof('1'::timetz(2))
;
select 'a'::timestamp without time zone
;
select '2020-01-01'::timestamp without time zone, '10:00'::time without time zone, '10:00+01'::time with time zone, '2020-01-01 10:00'::timestamp(0) with time zone
;
select current_date - 7, now()::date = current_date, now()::timestamp(0) is not null, (now() at time zone 'utc')::date is not null, date_bin('15 minutes', timestamp '2020-01-01 00:20', timestamp '2020-01-01')
;
select a, sum(sum(a)) over () from t group by a order by a
;
select lower(b) as b, count(*) as n from t where b is not null group by lower(b) order by n desc, b limit 10
;
select bool 't' and true, null::int is null, 'nan'::float8 = 'nan'::float8, 'infinity'::timestamp > now()
