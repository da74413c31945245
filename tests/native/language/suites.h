// The parts of the language test, one per subject.
#pragma once

void check_vector_types();
void check_bit_functions();
void check_packed_arithmetic();
void check_dynamic_programming();
void check_conversions();
void check_rounded_arithmetic();
void check_math_functions();
void check_float16_conversions();
void check_float16_arithmetic();
void check_float16_functions();
void check_atomics();
void check_differences();
