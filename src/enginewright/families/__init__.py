"""Families of models as data: one file a family, and nothing else names one."""
