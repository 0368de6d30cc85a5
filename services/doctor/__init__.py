"""Is everything around the store fit for work?"""
