"""The picture that the browser draws, as values and as one page: for the app, a saved file and a notebook.

In: records. Out: payloads, HTML. Nothing here knows a server.
"""
