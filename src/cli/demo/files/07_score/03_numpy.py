# /// step
# agent = "critic"
# model = "demo-large"
# call = "call_0026"
# summary = "the same fit by numpy, where it is installed"
# ///
try:
    import numpy as np
except ImportError:
    print("numpy is not installed: nothing to compare with")
else:
    A = np.array(X_train)
    penalty = RIDGE * np.eye(A.shape[1])
    penalty[0, 0] = 0.0
    theirs = np.linalg.solve(A.T @ A + penalty, A.T @ np.array(y_train))
    gap = float(np.max(np.abs(theirs - np.array(weights))))
    assert gap < 1e-6, gap
    print("numpy finds the same weights")
