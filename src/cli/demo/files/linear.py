# /// step
# kind = "module"
# agent = "modeller"
# model = "demo-large"
# call = "call_0019"
# summary = "linear algebra by hand, imported by the fits"
# ///
"""Just enough linear algebra to fit a model without any library."""

from math import fsum


def dot(a, b):
    return fsum(x * y for x, y in zip(a, b))


def solve(matrix, right):
    """The x for which matrix·x = right, by elimination with the largest pivot."""
    size = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda r: abs(rows[r][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for below in range(at + 1, size):
            factor = rows[below][at] / rows[at][at]
            rows[below] = [b - factor * a for a, b in zip(rows[at], rows[below])]
    x = [0.0] * size
    for at in reversed(range(size)):
        known = fsum(rows[at][k] * x[k] for k in range(at + 1, size))
        x[at] = (rows[at][size] - known) / rows[at][at]
    return x


def normal_equations(X, y, weights=None, ridge=0.0):
    """XᵀWX + ridge·I (but for the constant) and XᵀWy."""
    width = len(X[0])
    weights = weights or [1.0] * len(X)
    left = [[fsum(w * row[i] * row[j] for w, row in zip(weights, X)) for j in range(width)] for i in range(width)]
    for at in range(1, width):
        left[at][at] += ridge
    right = [fsum(w * row[i] * value for w, row, value in zip(weights, X, y)) for i in range(width)]
    return left, right
