# A run in a container: docker build -t rag-assay . && docker run -v "$PWD:/work" rag-assay run config.yaml
FROM python:3.12-slim
# Where pip finds torch. Empty: PyPI, whose build for Linux brings CUDA; the CPU build has an index of its own.
ARG TORCH_INDEX=""
ARG EXTRAS="offline,fast,documents"

COPY requirements /source/requirements
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} --requirement /source/requirements/torch.txt

COPY pyproject.toml README.md LICENSE /source/
COPY harness /source/harness
RUN pip install --no-cache-dir "/source[$EXTRAS]" \
    && useradd --create-home assay

USER assay
WORKDIR /work
ENTRYPOINT ["rag-assay"]
CMD ["--help"]
