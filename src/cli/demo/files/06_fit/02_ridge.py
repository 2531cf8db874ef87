# /// step
# agent = "modeller"
# model = "demo-large"
# call = "call_0021"
# summary = "least squares with a little ridge, by the normal equations"
# ///
from linear import dot, normal_equations, solve

weights = solve(*normal_equations(X_train, y_train, ridge=RIDGE))
ridge = [max(0.0, dot(row, weights)) for row in X_test]

for name, weight in zip(FEATURES, weights):
    print(f"{name:>9} {weight:8.1f}")
