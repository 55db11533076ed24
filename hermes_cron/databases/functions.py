"""Which SQL functions may a read-only statement call, for each dialect?

Every name is here because it only looks: it changes no row, sequence, setting, lock, session or file, waits for
nobody, runs no SQL text, loads no code and reads no file of the server. What is not here is refused, so a new server
version or an extension can add nothing by itself. The PostgreSQL list was made from ``pg_proc`` of version 15
(immutable and stable functions that people call) and then read by hand; missing on purpose are, among others:
``query_to_xml``, ``table_to_xml``, ``ts_stat`` and ``ts_rewrite`` (they run a query given as text), ``txid_current``
and ``pg_current_xact_id`` (they assign a transaction id), ``setseed``, ``nextval``, ``set_config``, ``pg_sleep``,
``dblink``, ``lo_*``, ``pg_advisory_*``, ``pg_notify``, ``pg_read_*``, ``pg_ls_*``, ``pg_stat_file``, ``*_reset``.
"""

from __future__ import annotations

from typing import Final


def names(*blocks: str) -> frozenset[str]:
    """Words divided by blanks."""
    return frozenset(name for block in blocks for name in block.split())


_AGGREGATE_AND_WINDOW = """
    avg count max min sum stddev stddev_pop stddev_samp variance var_pop var_samp bit_and bit_or bit_xor
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
"""
_MATH = """
    abs acos asin atan atan2 ceil ceiling cos cot degrees exp floor ln log log10 mod pi power radians round sign sin
    sqrt tan
"""
_CONDITIONAL = "coalesce nullif"

POSTGRES: Final = names(
    _AGGREGATE_AND_WINDOW,
    _MATH,
    _CONDITIONAL,
    # aggregates
    """
    array_agg bool_and bool_or every string_agg json_agg jsonb_agg json_object_agg jsonb_object_agg xmlagg corr
    covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    mode percentile_cont percentile_disc grouping range_agg range_intersect_agg
    """,
    # numbers
    """
    acosd acosh asind asinh atan2d atand atanh cbrt cosd cosh cotd div factorial gcd lcm min_scale random scale sind
    sinh tand tanh trim_scale trunc width_bucket pow float4 float8 int2 int4 int8 numeric greatest least
    """,
    # text and bytes
    """
    ascii bit_count bit_length btrim char_length character_length chr concat concat_ws convert convert_from convert_to
    decode encode format get_bit get_byte initcap is_normalized left length like lower lpad ltrim md5 normalize notlike
    octet_length overlay parse_ident position quote_ident quote_literal quote_nullable regexp_count regexp_instr
    regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr
    repeat replace reverse right rpad rtrim set_bit set_byte sha224 sha256 sha384 sha512 split_part starts_with
    string_to_array string_to_table strpos substr substring text to_ascii to_hex translate trim unistr upper varchar
    similarity word_similarity strict_word_similarity show_trgm unaccent levenshtein soundex
    """,
    # dates and times
    """
    age clock_timestamp date date_bin date_part date_trunc extract isfinite justify_days justify_hours justify_interval
    make_date make_interval make_time make_timestamp make_timestamptz now overlaps statement_timestamp timeofday
    timestamp timestamptz timezone to_char to_date to_number to_timestamp transaction_timestamp
    """,
    # arrays, rows, ranges, sets
    """
    array array_append array_cat array_dims array_fill array_length array_lower array_ndims array_position
    array_positions array_prepend array_remove array_replace array_to_json array_to_string array_to_tsvector array_upper
    cardinality generate_series generate_subscripts num_nonnulls num_nulls row trim_array unnest daterange
    datemultirange int4range int4multirange int8range int8multirange isempty lower_inc lower_inf multirange numrange
    nummultirange range_merge tsrange tsmultirange tstzrange tstzmultirange upper_inc upper_inf
    enum_first enum_last enum_range
    """,
    # json and xml
    """
    json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
    json_each_text json_extract_path json_extract_path_text json_object json_object_keys json_populate_record
    json_populate_recordset json_strip_nulls json_to_record json_to_recordset json_typeof jsonb_array_elements
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
    jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists
    jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array
    jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
    jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset
    jsonb_typeof row_to_json to_json to_jsonb xml_is_well_formed xmlcomment xpath xpath_exists
    """,
    # full text
    """
    get_current_ts_config numnode phraseto_tsquery plainto_tsquery querytree setweight strip to_tsquery to_tsvector
    ts_debug ts_headline ts_lexize ts_rank ts_rank_cd tsvector_to_array websearch_to_tsquery
    """,
    # network, geometry, ids
    """
    abbrev broadcast family host hostmask inet_merge inet_same_family masklen netmask network set_masklen
    area center diameter height width npoints radius point box circle polygon gen_random_uuid
    """,
    # who, where, which settings
    """
    current_catalog current_database current_query current_schema current_schemas current_setting current_user
    getdatabaseencoding inet_client_addr inet_client_port inet_server_addr inet_server_port pg_backend_pid
    pg_blocking_pids pg_safe_snapshot_blocking_pids pg_client_encoding pg_conf_load_time pg_postmaster_start_time
    pg_is_in_recovery pg_is_wal_replay_paused pg_jit_available pg_listening_channels pg_my_temp_schema
    pg_is_other_temp_schema pg_notification_queue_usage pg_trigger_depth session_user user version pg_typeof
    current_timestamp current_time localtime localtimestamp all any some
    pg_settings_get_flags pg_show_all_settings pg_timezone_names pg_timezone_abbrevs pg_encoding_to_char
    pg_char_to_encoding pg_column_size pg_column_compression pg_size_bytes pg_size_pretty
    """,
    # rights
    """
    has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege
    has_function_privilege has_language_privilege has_parameter_privilege has_schema_privilege has_sequence_privilege
    has_server_privilege has_table_privilege has_tablespace_privilege has_type_privilege pg_has_role row_security_active
    acldefault aclexplode makeaclitem
    """,
    # catalog
    """
    col_description obj_description shobj_description format_type pg_collation_for pg_collation_is_visible
    pg_conversion_is_visible pg_function_is_visible pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible
    pg_statistics_obj_is_visible pg_table_is_visible pg_type_is_visible pg_ts_config_is_visible pg_describe_object
    pg_identify_object pg_identify_object_as_address pg_get_object_address pg_get_constraintdef pg_get_expr
    pg_get_function_arg_default pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
    pg_get_function_sqlbody pg_get_functiondef pg_get_indexdef pg_get_keywords pg_get_partition_constraintdef
    pg_get_partkeydef pg_get_publication_tables pg_get_replica_identity_index pg_get_ruledef pg_get_serial_sequence
    pg_get_statisticsobjdef pg_get_statisticsobjdef_columns pg_get_triggerdef pg_get_userbyid pg_get_viewdef
    pg_index_column_has_property pg_index_has_property pg_indexam_has_property pg_partition_ancestors pg_partition_root
    pg_partition_tree pg_relation_filenode pg_relation_is_publishable pg_relation_is_updatable pg_column_is_updatable
    pg_sequence_last_value pg_sequence_parameters pg_tablespace_databases pg_tablespace_location pg_filenode_relation
    to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc to_regprocedure to_regrole
    to_regtype pg_available_extensions pg_available_extension_versions pg_extension_update_paths _pg_expandarray
    currval lastval
    """,
    # sizes, statistics, replication, write-ahead log: reading only
    """
    pg_database_size pg_indexes_size pg_relation_size pg_table_size pg_tablespace_size pg_total_relation_size
    pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system pg_current_wal_flush_lsn
    pg_current_wal_insert_lsn pg_current_wal_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn
    pg_last_xact_replay_timestamp pg_wal_lsn_diff pg_walfile_name pg_walfile_name_offset pg_lsn pg_get_replication_slots
    pg_get_wal_replay_pause_state pg_replication_origin_progress pg_lock_status pg_prepared_xact pg_prepared_statement
    pg_cursor pg_xact_commit_timestamp pg_xact_status txid_status pg_current_xact_id_if_assigned pg_current_snapshot
    pg_snapshot_xip pg_snapshot_xmax pg_snapshot_xmin pg_visible_in_snapshot mxid_age pg_mcv_list_items
    pg_get_backend_memory_contexts pg_get_shmem_allocations pg_collation_actual_version
    pg_database_collation_actual_version
    pg_stat_get_activity pg_stat_get_backend_idset pg_stat_get_backend_pid pg_stat_get_dead_tuples
    pg_stat_get_live_tuples pg_stat_get_mod_since_analyze pg_stat_get_ins_since_vacuum pg_stat_get_numscans
    pg_stat_get_tuples_returned pg_stat_get_tuples_fetched pg_stat_get_tuples_inserted pg_stat_get_tuples_updated
    pg_stat_get_tuples_deleted pg_stat_get_tuples_hot_updated pg_stat_get_blocks_fetched pg_stat_get_blocks_hit
    pg_stat_get_last_vacuum_time pg_stat_get_last_autovacuum_time pg_stat_get_last_analyze_time
    pg_stat_get_last_autoanalyze_time pg_stat_get_vacuum_count pg_stat_get_autovacuum_count pg_stat_get_progress_info
    pg_stat_get_db_numbackends pg_stat_get_db_stat_reset_time pg_stat_get_wal_receiver pg_stat_get_wal_senders
    pg_stat_statements pg_stat_statements_info pgstattuple pgstattuple_approx pgstatindex pgstatginindex
    pg_buffercache_pages pg_freespace
    """,
)

_SQLITE_PRAGMA_READS = """
    table_info table_xinfo index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check
    quick_check page_count page_size freelist_count journal_mode user_version schema_version encoding compile_options
    database_list table_list function_list collation_list module_list application_id auto_vacuum cache_size
    foreign_keys max_page_count synchronous locking_mode stats
"""
SQLITE_PRAGMAS: Final = names(_SQLITE_PRAGMA_READS)
SQLITE_PRAGMAS_WITH_ARGUMENT: Final = names(
    "table_info table_xinfo index_list index_info index_xinfo foreign_key_list foreign_key_check integrity_check",
    "quick_check table_list",
)

SQLITE: Final = names(
    _AGGREGATE_AND_WINDOW,
    _MATH,
    _CONDITIONAL,
    "group_concat string_agg total",
    "acosh asinh atanh cosh log2 pow sinh tanh trunc random",
    """
    changes char concat concat_ws format glob hex ifnull iif if instr last_insert_rowid length like likelihood likely
    lower ltrim octet_length printf quote randomblob replace rtrim soundex sqlite_compileoption_get
    sqlite_compileoption_used sqlite_source_id sqlite_version substr substring total_changes trim typeof unhex unicode
    unlikely upper zeroblob
    """,
    "date time datetime julianday unixepoch strftime timediff",
    """
    json json_array json_array_length json_each json_error_position json_extract json_group_array json_group_object
    json_insert json_object json_patch json_quote json_remove json_replace json_set json_tree json_type json_valid
    """,
    "match regexp bm25 highlight snippet rtreecheck",
    " ".join(f"pragma_{name}" for name in SQLITE_PRAGMAS),
)

MYSQL: Final = names(
    _AGGREGATE_AND_WINDOW,
    _MATH,
    _CONDITIONAL,
    """
    any_value group_concat json_arrayagg json_objectagg std grouping bit_count conv crc32 greatest least log2 pow rand
    truncate if ifnull isnull ascii bin bit_length char char_length character_length concat concat_ws elt export_set
    field find_in_set format format_bytes format_pico_time from_base64 hex insert instr lcase left length locate lower
    lpad ltrim make_set mid oct octet_length ord position quote regexp_instr regexp_like regexp_replace regexp_substr
    repeat replace reverse right rpad rtrim soundex space strcmp substr substring substring_index to_base64 trim ucase
    unhex upper weight_string md5 sha sha1 sha2 inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 bin_to_uuid
    uuid_to_bin is_uuid uuid
    adddate addtime convert_tz curdate curtime current_date current_time current_timestamp date date_add date_format
    date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime hour last_day localtime
    localtimestamp makedate maketime microsecond minute month monthname now period_add period_diff quarter sec_to_time
    second str_to_date subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd
    timestampdiff to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday weekofyear year
    yearweek json_array json_contains json_contains_path json_depth json_extract json_keys json_length json_merge_patch
    json_merge_preserve json_object json_overlaps json_pretty json_quote json_remove json_replace json_search json_set
    json_storage_size json_type json_unquote json_valid json_value json_insert
    connection_id current_role current_user database schema session_user system_user user version charset coercibility
    collation cast convert row_count found_rows values row
    """,
)

TSQL: Final = names(
    _AGGREGATE_AND_WINDOW,
    _MATH,
    _CONDITIONAL,
    """
    string_agg stdev stdevp var varp count_big approx_count_distinct checksum_agg grouping grouping_id percentile_cont
    percentile_disc atn2 rand square log10 iif choose isnull isnumeric greatest least
    ascii char charindex concat concat_ws difference format left len lower ltrim nchar patindex quotename replace
    replicate reverse right rtrim soundex space str string_escape string_split stuff substring translate trim unicode
    upper datalength checksum binary_checksum hashbytes newid
    current_timestamp dateadd datediff datediff_big datefromparts datename datepart datetime2fromparts
    datetimefromparts datetrunc day eomonth getdate getutcdate isdate month switchoffset sysdatetime sysdatetimeoffset
    sysutcdatetime timefromparts todatetimeoffset year
    isjson json_array json_object json_query json_value openjson cast convert try_cast try_convert try_parse parse
    app_name col_length col_name columnproperty current_user databasepropertyex db_id db_name file_id file_name
    filegroup_id filegroup_name has_perms_by_name host_name index_col indexkey_property indexproperty is_member
    is_rolemember is_srvrolemember object_definition object_id object_name object_schema_name objectproperty
    objectpropertyex original_login parsename schema_id schema_name serverproperty sessionproperty stats_date suser_name
    suser_sname type_id type_name typeproperty user_id user_name session_user system_user
    """,
)

ALLOWED: Final = {"postgres": POSTGRES, "sqlite": SQLITE, "mysql": MYSQL, "tsql": TSQL}

# Tables and views that hold password hashes or other servers' passwords. Reading them changes nothing and still is
# nothing an inspection needs: what is read goes to models, reports and chats.
SECRET_TABLES: Final = {
    "postgres": names(
        "pg_authid pg_shadow pg_user_mapping pg_user_mappings pg_subscription _pg_user_mappings user_mapping_options",
        "pg_hba_file_rules pg_ident_file_mappings pg_file_settings",
    ),
    "sqlite": frozenset[str](),
    "mysql": names("mysql.user mysql.global_priv mysql.servers mysql.proxies_priv"),
    "tsql": names("sys.sql_logins sys.syslogins"),
}

# PostgreSQL's attribute notation: ``(x).f`` and ``alias.f`` call f(x) when there is no such column, so that
# ``select ('s'::regclass).nextval`` moves a sequence. As the name of a column these are refused; the session also asks
# the server for functions of the names used (postgres.py).
ATTRIBUTE_PREFIXES: Final = ("pg_", "lo_", "binary_upgrade_", "brin_", "gin_", "dblink", "hypopg", "cron_", "plpgsql_")
ATTRIBUTE_CALLS: Final = names(
    "nextval setval setseed set_config ts_stat ts_rewrite amvalidate loread lowrite query_to_xml table_to_xml",
    "schema_to_xml database_to_xml cursor_to_xml txid_current txid_status currtid currtid2 crosstab connectby",
)
# Fields of the system's own composite results, as in ``(aclexplode(acl)).grantee``. Other ``(x).name`` are refused.
COMPOSITE_FIELDS: Final = names(
    "grantor grantee privilege_type is_grantable start_value minimum_value maximum_value increment cycle_option",
    "cache_size data_type key value n x f1 f2 f3 f4 f5 f6 f7 f8 f9",
)
