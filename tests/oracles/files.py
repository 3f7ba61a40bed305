"""The files of CPython's tests that are about the language and its core types."""

#: versions of Python lack some of them
# fmt: off
FILES = (
    "test_abc", "test_abstract_numbers", "test_augassign", "test_baseexception", "test_binop",
    "test_bisect", "test_bool", "test_builtin", "test_bytes", "test_call", "test_class",
    "test_collections", "test_compare", "test_complex", "test_contains", "test_contextlib",
    "test_copy", "test_dataclasses", "test_decorators", "test_defaultdict", "test_deque",
    "test_descr", "test_dict", "test_dict_version", "test_dictcomps", "test_dictviews",
    "test_dynamic", "test_dynamicclassattribute", "test_enum", "test_enumerate",
    "test_except_star", "test_exception_group", "test_exception_hierarchy",
    "test_exception_variations", "test_exceptions", "test_extcall", "test_float", "test_flufl",
    "test_format", "test_fractions", "test_fstring", "test_funcattrs", "test_functools",
    "test_generators", "test_genericalias", "test_genericclass", "test_genexps", "test_global",
    "test_grammar", "test_hash", "test_heapq", "test_index", "test_int", "test_int_literal",
    "test_isinstance", "test_iter", "test_iterlen", "test_itertools", "test_keyword",
    "test_keywordonlyarg", "test_list", "test_listcomps", "test_long", "test_longexp", "test_math",
    "test_metaclass", "test_module", "test_named_expressions", "test_numeric_tower",
    "test_opcodes", "test_operator", "test_ordered_dict", "test_patma", "test_pep646_syntax",
    "test_positional_only_arg", "test_pow", "test_property", "test_raise", "test_range", "test_re",
    "test_reprlib", "test_richcmp", "test_scope", "test_set", "test_setcomps", "test_slice",
    "test_sort", "test_statistics", "test_str", "test_string", "test_string_literals",
    "test_strtod", "test_structseq", "test_subclassinit", "test_super", "test_textwrap",
    "test_tuple", "test_type_aliases", "test_type_annotations", "test_type_params",
    "test_typechecks", "test_types", "test_typing", "test_unary", "test_unicode", "test_unpack",
    "test_unpack_ex", "test_userdict", "test_userlist", "test_userstring", "test_utf8source",
    "test_with", "test_yield_from",
)
# fmt: on
