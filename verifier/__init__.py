"""tilelint: static linter and verifier for accelerator kernels written in Python."""

__version__ = "0.1.0"
