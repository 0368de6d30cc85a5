"""The named methods: presets of representation, partition, aggregation and recoding."""
