// Undefines the parameters of the float16_*.h files after the last of them.
#undef GS_FLOAT16
#undef GS_FLOAT16_RAW
#undef GS_FLOAT16_PAIR
#undef GS_FLOAT16_PAIR_RAW
#undef GS_FLOAT16_OTHER
#undef GS_FLOAT16_FORMAT
#undef GS_FLOAT16_TOKEN
#undef GS_FLOAT16_PAIR_TOKEN
