select cast(a as numeric), typeof(cast('5' as numeric)), typeof(cast('5.5' as decimal)), typeof(cast(5 as boolean)),typeof(cast('5' as date)), typeof(cast('5' as varchar(3))), typeof(cast('5' as float)), typeof(cast('5' as int)),typeof(cast('5' as blob)), typeof(cast('5' as bigint)), typeof(cast('5' as double precision)),typeof(cast('5' as real)),typeof(cast('5' as char)) from t
;
select c -> 'a.b', c ->> 'a', c -> '$.a.b', c ->> '$.x[1]', c -> 'x' from t where json_type(c)='object'
;
select c -> 0, c->>1, c->'$[0]', c ->> '$[#-1]' from t
;
select c -> '0', c->'$.x', c -> '"a.b"', c->'$."a.b"' from t
;
select a is not b, a is b, a == b, a isnull, a notnull, a not null, a is null, a is not null from t
;
select 'a' 'b'
;
select a "b" from t
;
select a 'q' from t
;
select -a, - -a, -(-a), +a, ~a, not a, a%2, 7/2, 5.0/2, a<<1, a>>1, a&1, a|1, a||b from t
;
select a=1 or b='x' and not c, not a=1, not a is null, (not a) is null from t
;
select not a in (1,2), a not in (1,2), not a between 1 and 2, a not between 1 and 2, a not like 1, not a like 1 from t
;
select 1 - (2 - 3), (1-2)-3, 8/(4/2), 2*(3+4), -(2+3), - 2 + 3, 1 || 2 + 3, (1||2)+3 
;
select a from t order by a
;
select a from t order by a desc
;
select a from t order by a nulls last
;
select a from t order by a desc nulls first
;
select a,b from t order by b collate nocase desc, a
;
select * from t limit 1,2
;
select * from t limit 2 offset 1
;
select * from t limit -1 offset 2
;
select count(*), count(a), sum(a), total(a), avg(a), min(a), max(a), group_concat(b,';') from t
;
select a, row_number() over (order by a desc), sum(a) over (order by a rows between 1 preceding and 1 following) from t
;
select typeof(0x1f), 0x1f, 0xFFFFFFFFFFFFFFFF, 9223372036854775807, 9223372036854775808, 1e400, .5, 5., 1e3
;
select x'ff', X'0a', quote(x'00ff')
;
select 'it''s', 'a\b', 'a
b', 'é中文', "no such" 
;
select case when a>1 then 'x' when a<0 then 'y' else null end, case a when 1 then 'one' end, iif(a>0,1,0) from t
;
select * from (select 1 x union all select 2 union select 2 except select 1)
;
select 1 union all select 2 union select 1
;
select 1 union select 2 intersect select 3
;
values(1,'a'),(2,null)
;
with recursive c(x) as (values(1) union all select x+1 from c where x<5) select x, x*x from c
;
with a as (select 1 as x), b(y) as (select x+1 from a) select * from a,b
;
select * from t as p join t q on p.a=q.a left join t r using(a) where p.a is not null
;
select * from t natural join t u
;
select * from t p, t q where p.a < q.a
;
select * from t p left join (t q join t r on q.a=r.a) on p.a=q.a
;
select exists(select 1 from t where a=1), (select max(a) from t), a in (select a from t) from t
;
select a from t where (a,b) in (values(1,'x'))
;
select date('2020-01-01','+1 day'), strftime('%Y-%m', '2020-05-01'), julianday('2000-01-01'), datetime(0,'unixepoch')
;
select substr('hello',2,3), instr('hello','l'), replace('aaa','a','b'), trim('  x '), trim('xxaxx','x'), ltrim('xxa','x'), upper('a'), length('é'), hex('a'), char(65,66), unicode('A'), printf('%05.2f|%s|%d', 3.14159,'x',5), round(2.567,2), abs(-1), coalesce(null,1), nullif(1,1), ifnull(null,2), min(1,2), max(1,2)
;
select json_extract(c,'$.a.b'), json_type(c), json_array_length('[1,2]'), json_object('a',1), json_array(1,2) from t
;
select key, value from json_each('{"a":1,"b":[2]}')
;
select name from pragma_table_info('t')
;
select a, count(*) from t group by 1 having count(*)>0 order by 2 desc, 1
;
select distinct b is null from t
;
select all a from t
;
select t.* from t
;
select rowid, * from t
;
select a from t where b glob 'x*' or b like 'Y' escape '\'
;
select true, false, true+1, typeof(true), a is true, a is not true, a is false from t
;
select a from t where a > 1 and (b = 'x' or b is null)
;
select cast(5 as text) || 'x', 1 = 1.0, '1' = 1, 5 / 2 * 2.0, 5 % 3, -5 % 3, -5 / 2
;
select a <> 1, a != 1, a < 1, a <= 1, a >= 1 from t
;
select 1 in (), 1 not in ()
;
select (1,2) < (1,3)
;
select max(a) filter (where a > 0) from t
;
select first_value(a) over w, lag(a,1,0) over w from t window w as (order by a)
;
select group_concat(distinct b) from t
;
select count(*) from t indexed by i where a = 1
;
select 1 where 1 is 1
;
select 1 is distinct from 2, 1 is not distinct from 1
;
select `a`, [b], "c" from t
;
select upper(b) as "U P", a as [x y] from t
;
select current_date is not null
;
select likely(a), unlikely(b), typeof(a) from t
;
select total_changes() >= 0, changes() >= 0
;
select 5 between 1 and 10 and 1
;
select - 5 between -10 and 10
;
select a + b * 2 - 3 / 1 from t
;
select 'a' < 'b' collate nocase
;
select 10 - 2 - 3, 100 / 10 / 5, 2 * 3 % 4, 1 << 2 + 1, 1 | 2 & 3, 5 & 3 = 1, 1 = 1 = 1, 1 < 2 < 3, not 1 = 2, - 1 is null, 1 is null = 0, 'a' || 'b' = 'ab', 2 > 1 = 1, 1 = 2 > 1
;
select ~1 + 1, -1 || 'x', not not 1, - (select 1), 1 - -1
