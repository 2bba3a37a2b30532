"""Words of many languages: how texts are cut into search terms, and which words carry no meaning."""
