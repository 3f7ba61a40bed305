"""What gives meaning to the names and calls of kernel APIs, a package per dialect."""
