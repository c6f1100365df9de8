"""Spec and catalogue in, plan out: parallelism, the memory bill, engine arguments, checks. Pure."""
