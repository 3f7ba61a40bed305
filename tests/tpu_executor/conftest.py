from tests.executor_process import kernels_are_forked

__all__ = ["kernels_are_forked"]
