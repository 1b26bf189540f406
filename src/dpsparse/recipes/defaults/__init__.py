"""What recipes share: rules from public facts and the budget, one file for each subject."""
