# /// step
# agent = "planner"
# model = "demo-large"
# call = "call_0018"
# summary = "the last two weeks are held back: no shuffling, since time matters"
# ///
cut = (DAYS - HELD_BACK) * 24
X_train, y_train = X[:cut], y[:cut]
X_test, y_test = X[cut:], y[cut:]
print(f"{len(X_train)} hours to learn from, {len(X_test)} to judge by")
