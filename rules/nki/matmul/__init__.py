"""The Tensor Engine: products of matrices, and transpositions."""
