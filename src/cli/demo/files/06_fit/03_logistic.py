# /// step
# agent = "modeller"
# model = "demo-large"
# call = "call_0022"
# timeout = 60
# summary = "will the hour be busy? logistic regression by Newton's method"
# ///
from math import exp, fsum, log

from linear import dot, normal_equations, solve


def chance(row, coefficients):
    return 1 / (1 + exp(-max(-30.0, min(30.0, dot(row, coefficients)))))


busy_train = [float(rides >= BUSY) for rides in y_train]
coefficients = [0.0] * len(FEATURES)
for turn in range(8):
    chances = [chance(row, coefficients) for row in X_train]
    curve = [max(1e-6, p * (1 - p)) for p in chances]
    aim = [dot(row, coefficients) + (b - p) / c for row, b, p, c in zip(X_train, busy_train, chances, curve)]
    coefficients = solve(*normal_equations(X_train, aim, weights=curve, ridge=RIDGE))
    loss = -fsum(log(p if b else 1 - p) for p, b in zip(chances, busy_train)) / len(chances)
    print(f"turn {turn + 1}: loss {loss:.4f}")

busy_chance = [chance(row, coefficients) for row in X_test]
