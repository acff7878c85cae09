"""What a query may call. Total: a name that is not here is refused, whatever it does. Data only.

Left out on purpose: what reads files, settings, the catalog or the clock; what differs from run to run; what
makes a value whose size its arguments choose (`repeat`, `lpad`, `range` as a scalar), or takes time that grows
with the square of a text (`levenshtein`), since the engine cannot be interrupted inside one value.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "AGGREGATES",
    "COLLATIONS",
    "FUNCTIONS",
    "OPERATORS",
    "ORDER_FREE",
    "TABLE_FUNCTIONS",
    "TYPES",
    "VALUE_FUNCTIONS",
    "WINDOWS",
    "why_not",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OPERATORS: Final = _words(
    "+ - * / // % ** ^ & | ~ << >> || <-> @ ! !__postfix ~~ !~~ ~~* !~~* ~~~ <@ @> && ^@ ->>"
)

_NUMBERS = """
    abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide even exp
    factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm least
    least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians round round_even
    roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
"""
_TEXTS = """
    array_extract array_slice ascii base64 bin bit_length char_length character_length chr concat concat_ws contains
    encode decode ends_with from_base64 from_binary from_hex hamming hex instr jaccard lcase left left_grapheme len
    length length_grapheme like_escape ilike_escape not_like_escape not_ilike_escape lower ltrim md5 mismatches
    nfc_normalize octet_length ord position prefix regexp_escape regexp_extract regexp_extract_all
    regexp_full_match regexp_matches regexp_replace regexp_split_to_array replace reverse right right_grapheme
    rtrim sha1 sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
    string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix to_base64 to_binary
    to_hex translate trim ucase unbin unhex unicode upper url_decode url_encode parse_dirname parse_dirpath
    parse_filename parse_path formatreadablesize formatreadabledecimalsize format_bytes
"""
_DATES = """
    century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
    dayofmonth dayofweek dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear julian last_day
    make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns microsecond millennium millisecond minute
    month monthname nanosecond quarter second strftime strptime time_bucket to_centuries to_days to_decades to_hours
    to_microseconds to_milliseconds to_millennia to_minutes to_months to_quarters to_seconds to_weeks to_years
    try_strptime week weekday weekofyear year yearweek days_in_month normalized_interval
"""
_NESTED = """
    apply array_append array_apply array_cat array_concat array_contains array_distinct array_filter
    array_has array_has_all array_has_any array_indexof array_intersect array_length array_pop_back array_pop_front
    array_position array_prepend array_push_back array_push_front array_reduce array_reverse array_reverse_sort
    array_select array_sort array_to_string array_transform array_unique array_value array_where array_zip
    cardinality element_at filter flatten grade_up list_append list_apply list_cat list_concat list_contains
    list_distinct list_element list_extract list_filter list_grade_up list_has list_has_all list_has_any
    list_indexof list_intersect list_pack list_position list_prepend list_reduce list_reverse list_reverse_sort
    list_select list_slice list_sort list_transform list_unique list_value list_where list_zip map map_concat
    map_contains map_contains_entry map_contains_value map_entries map_extract map_extract_value map_from_entries
    map_keys map_values reduce row struct_concat struct_contains struct_extract struct_extract_at struct_has
    struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values unnest
    list_avg list_bool_and list_bool_or list_count list_max list_median list_min list_product list_string_agg
    list_sum generate_subscripts
"""
_JSON = """
    array_to_json from_json from_json_strict json json_array json_array_length json_contains json_exists json_extract
    json_extract_path json_extract_path_text json_extract_string json_keys json_merge_patch json_object json_pretty
    json_quote json_structure json_transform json_transform_strict json_type json_valid json_value row_to_json to_json
"""
_OTHER = "coalesce if ifnull nullif typeof"

FUNCTIONS: Final = _words(f"{_NUMBERS} {_TEXTS} {_DATES} {_NESTED} {_JSON} {_OTHER}")
"""Scalar functions. Names are compared in lower case, as the engine does."""

ORDER_FREE: Final = _words("""
    approx_count_distinct bit_and bit_or bit_xor bool_and bool_or count count_if count_star countif histogram
    max min median quantile_disc quantile_cont quantile regr_count
    """)
"""Aggregates whose value does not depend on the order of the rows."""

AGGREGATES: Final = ORDER_FREE | _words("""
    any_value arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin array_agg avg corr covar_pop
    covar_samp entropy favg first fsum geomean geometric_mean group_concat kahan_sum kurtosis kurtosis_pop last list
    listagg mad max_by mean min_by mode product regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum sumkahan var_pop var_samp variance
    """)

WINDOWS: Final = _words("""
    cume_dist dense_rank first first_value lag last last_value lead nth_value ntile percent_rank rank rank_dense
    row_number fill
    """)

TABLE_FUNCTIONS: Final = frozenset(("unnest", "range", "generate_series"))
"""In FROM only, where rows come one vector at a time."""

COLLATIONS: Final = frozenset(("binary", "c", "posix", "nocase", "noaccent", "nfc"))

TYPES: Final = _words("""
    array bigint bignum binary bit bitstring blob bool boolean bpchar bytea char date datetime dec decimal double
    float float4 float8 hugeint int int1 int128 int16 int2 int32 int4 int64 int8 integer integral interval json list
    logical long map nchar numeric nvarchar oid real row short signed smallint string struct text time timestamp
    timestamp_ms timestamp_ns timestamp_s timestamp_us tinyint ubigint uhugeint uint128 uint16 uint32 uint64 uint8
    uinteger usmallint utinyint uuid varbinary varchar varint
    """)

VALUE_FUNCTIONS: Final = _words("""
    current_catalog current_database current_date current_localtime current_localtimestamp current_role
    current_schema current_time current_timestamp current_user localtime localtimestamp session_user user
    """)
"""Names that the engine reads as a function where there is no such column."""

_CHANGING = _words("""
    random setseed uuid uuidv4 uuidv7 gen_random_uuid now today get_current_time get_current_timestamp
    transaction_timestamp current_query_id current_connection_id current_transaction_id txid_current age
    ago approx_quantile approx_top_k reservoir_quantile nextval currval setval stats vector_type
    pg_postmaster_start_time pg_conf_load_time
    """)
_FILES = (
    "read_",
    "parquet_",
    "glob",
    "sniff_csv",
    "scan_",
    "arrow_scan",
    "pandas_scan",
    "python_",
    "st_read",
)
_CATALOG = (
    "duckdb_", "pragma_", "pg_", "has_", "current_", "inet_", "obj_description", "col_description", "version",
    "which_secret", "icu_calendar_names", "in_search_path", "summary", "seq_scan", "storage_info",
    "shobj_description", "format_pg_type", "format_type", "map_to_pg_oid", "map_type_id_to_pg_oid",
)  # fmt: skip
_SETTINGS = (
    "enable_", "disable_", "set", "getvariable", "getenv", "checkpoint", "force_checkpoint", "truncate_", "add_",
    "remove_", "register_", "deregister_", "create_", "destroy_", "write_log", "parse_duckdb_log_message",
)  # fmt: skip
_QUERIES = _words(
    "query query_table json_execute_serialized_sql json_serialize_sql json_deserialize_sql"
    " json_serialize_plan"
)
_SIZES = _words("""
    repeat lpad rpad bar list_resize array_resize range generate_series printf format to_base repeat_row
    bitstring set_bit test_all_types test_vector_types equi_width_bins
    """)
_SLOW = _words("""
    levenshtein editdist3 damerau_levenshtein jaro_similarity jaro_winkler_similarity sleep_ms pg_sleep lttb
    """)


def why_not(name: str) -> str:
    """The reason why the function `name` (lower case) is refused, for a person."""
    if name in _CHANGING or name in VALUE_FUNCTIONS:
        return "its value differs from run to run"
    if name in _QUERIES:
        return "it runs other SQL"
    if name in _SIZES:
        return "its arguments decide how much memory one value takes"
    if name in _SLOW:
        return "it cannot be interrupted while it works on one value"
    if name.startswith(_FILES):
        return "it reads files"
    if name.startswith(_CATALOG):
        return "it tells about the engine, not about the blocks"
    if name.startswith(_SETTINGS):
        return "it reads or changes the engine's state"
    return "it is not among the functions that a query may call"
