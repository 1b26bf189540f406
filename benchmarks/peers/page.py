"""stub"""
RESULTS=None
def write(): pass
