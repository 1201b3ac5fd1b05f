#!/bin/sh
# Takes out of a virtual environment what no worker loads: trim.sh FOLDER. Needs binutils.
set -eu
cd "$1"/lib/python3.*/site-packages
# Tests of packages, and what only a compiler reads. NumPy's tools for tests load `_natype`.
find . -path '*/tests/*' -type f ! -name '_natype*' ! -path './connect*' -delete
rm -rf sqlalchemy/testing
find . \( -name '*.pyi' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.pyx' -o -name '*.a' -o -name '*.h' -o -name '*.hpp' \
  -o -name '*.cc' -o -name '*.cpp' -o -name '*.c' \) -type f -delete
# NumPy's wrappers for Fortran, and what installers of programs ask it.
rm -rf numpy/f2py numpy/_pyinstaller
# Former versions of BigQuery's interface for storage.
rm -rf google/cloud/bigquery_storage_v1beta* google/cloud/bigquery_storage_v1alpha*
# The compiled form of modules that no worker loads; their source stays for a plug-in that does.
rm -rf hive_metastore/__pycache__ pygments/lexers/__pycache__ pyasn1_modules/__pycache__ pydantic/v1/__pycache__
rm -rf numpy/ma/__pycache__ numpy/polynomial/__pycache__ numpy/testing/__pycache__ sqlalchemy/dialects/oracle/__pycache__ \
  sqlalchemy/dialects/mssql/__pycache__
find connect/testing connect/tools numpy/typing numpy/_typing -name '*.pyc' -delete
# And of those that are loaded as a library that lies beside them.
find . -name '*.cpython-*.so' | while read -r library; do
  name=${library##*/}
  rm -f "${library%/*}/__pycache__/${name%%.*}".cpython-*.pyc
done
# A second form of the same library, for Pythons that are not CPython.
rm -f zstandard/_cffi.*
# Arrow's own tests.
rm -f pyarrow/_pyarrow_cpp_tests.*
rm -rf pyarrow/include pyarrow/src numpy/_core/include
# Arrow's calls over a network, which no part of the product makes.
rm -f pyarrow/libarrow_flight.so* pyarrow/libarrow_python_flight.so* pyarrow/_flight.*
# A wheel holds no links, so that a library of three names is in it three times.
for library in pyarrow/lib*.so.*.*.*; do
  for name in "${library%.*.*}" "${library%.*.*.*}"; do
    ! cmp -s "$name" "$library" || ln -sf "${library##*/}" "$name"
  done
done
# Services of Amazon's beside the stores and what gives out keys for them.
[ ! -d botocore/data ] || find botocore/data -mindepth 1 -maxdepth 1 -type d \
  ! -name s3 ! -name sts ! -name 'sso*' ! -name signin -exec rm -r {} +
find . -type d -empty -delete
# Debug symbols. Libraries that wheels bring in `*.libs` do not load any more where a tool has rewritten them twice.
find . \( -name '*.so' -o -name '*.so.[0-9]*' \) -type f ! -path './*.libs/*' -exec strip --strip-unneeded {} +
