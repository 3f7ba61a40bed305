"""The Python machine: kernels interpreted on symbolic inputs. See README.md in this folder."""
