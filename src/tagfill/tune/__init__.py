"""Search: learning rate, batch size and a method's hyper-parameters, evaluated on validation
images.

Needs the extra ``tune`` (Optuna).
"""
