"""Data that stays where it is: federated rounds, devices in the local model, and networks across sites."""
