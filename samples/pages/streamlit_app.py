"""A chat in Streamlit: `streamlit run streamlit_app.py`."""

import streamlit as st
from openai import APIError, OpenAI

client = OpenAI(base_url="http://127.0.0.1:7071/api/v1", api_key="any")
messages = st.session_state.setdefault("messages", [])
for message in messages:
    st.chat_message(message["role"]).write(message["content"])
if question := st.chat_input("Question"):
    messages.append({"role": "user", "content": question})
    st.chat_message("user").write(question)
    with st.chat_message("assistant"):
        try:
            stream = client.chat.completions.create(model="switchboard", messages=messages, stream=True)
            messages.append({"role": "assistant", "content": st.write_stream(stream)})
        except APIError as error:
            st.error(error.message)
