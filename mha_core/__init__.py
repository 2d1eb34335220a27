"""HeadScope engine: multi-head attention from scratch, and what its heads do."""
