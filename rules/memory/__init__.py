"""Rules over a kernel's memory as a whole: what is read, written, live and returned, and when."""
