"""Rules for Sophgo TPUs: addresses, lanes, strides, operands and schedules."""
