"""Where a table lies: a path, or the address of one object in an S3 store and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import PolicyError, UsageError
from policy.location import ObjectAddress, address_of, location_of
from policy.trusted import ObjectStore, Trusted

SECRET = "hunter2"  # noqa: S105 -- what no message may repeat


@pytest.mark.parametrize(
    "written", ["table.csv", "/data/table.csv", "a:b.csv", "s3/table.csv", "s3:/b/k.csv"]
)
def test_what_has_no_scheme_is_a_path(written: str) -> None:
    assert location_of(written, "--input") == Path(written)


@pytest.mark.parametrize(
    ("written", "bucket", "key", "name"),
    [
        ("s3://tables/a.csv", "tables", "a.csv", "a.csv"),
        ("s3://my.tables-2/new/2026Q1/a b.parquet", "my.tables-2", "new/2026Q1/a b.parquet", "a b.parquet"),
        ("s3://tables/Größe=1/2026-01-01T00:00.csv.gz", "tables", "Größe=1/2026-01-01T00:00.csv.gz", None),
        ("s3://tables/Gro\u0308ße/\u0939\u093f.csv", "tables", "Gro\u0308ße/\u0939\u093f.csv", None),
    ],
)
def test_an_address_is_a_bucket_and_a_key(written: str, bucket: str, key: str, name: str | None) -> None:
    found = location_of(written, "--input")
    assert found == ObjectAddress(bucket, key)
    assert str(found) == written
    assert found.name == (name or key.rpartition("/")[2])


@pytest.mark.enemy("policy author", "reads a file")
@pytest.mark.parametrize(
    "written",
    [
        *(
            f"{scheme}://tables/{SECRET}.csv"
            for scheme in (
                "file", "http", "https", "ftp", "memory", "S3", "s3a", "gs", "abfs", "github", "local", "",
                "simplecache::s3", "filecache::s3", "zip://a.csv::s3", "reference", "dir::file", " s3",
            )
        ),
        f"s3://{SECRET}", f"s3://{SECRET}/", f"s3:///{SECRET}", f"s3://key:{SECRET}@tables/a.csv",
        f"s3://key@tables/{SECRET}", f"s3://tables:9000/{SECRET}", f"s3://Tables/{SECRET}", f"s3://t/{SECRET}",
        f"s3://ta..les/{SECRET}", f"s3://arn:aws:s3:eu:1:accesspoint/{SECRET}", f"s3://[::1]/{SECRET}",
        f"s3://tables//{SECRET}", f"s3://tables/{SECRET}/", f"s3://tables/../{SECRET}", f"s3://tables/./{SECRET}",
        f"s3://tables/a/../{SECRET}", f"s3://tables/a.csv::file:///{SECRET}", f"s3://tables/{SECRET}::a.csv",
        f"s3://tables/a.csv?versionId={SECRET}", f"s3://tables/a.csv#{SECRET}", f"s3://tables/*{SECRET}",
        f"s3://tables/%2e%2e/{SECRET}", f"s3://tables/a\\..\\{SECRET}", f"s3://tables/a\n{SECRET}",
        f"s3://tables/a\0{SECRET}", f"s3://tables/\u0301/{SECRET}", f"s3://tables/{{{SECRET}}}", f"s3://tables/[{SECRET}]",
        f"s3://tables/{SECRET}{'x' * 1024}",
    ],
)  # fmt: skip
def test_any_other_address_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        location_of(written, "source.path")
    assert caught.value.where == "source.path"
    assert SECRET not in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("address", "prefix", "below"),
    [
        ("s3://tables/new/a.csv", "s3://tables", True),
        ("s3://tables/new/a.csv", "s3://tables/new", True),
        ("s3://tables/new/a.csv", "s3://tables/new/a.csv", True),
        ("s3://tables/new/a.csv", "s3://tables/ne", False),
        ("s3://tables/newer/a.csv", "s3://tables/new", False),
        ("s3://tables/a.csv", "s3://tables/new", False),
        ("s3://tables2/new/a.csv", "s3://tables/new", False),
        ("s3://tables2/new/a.csv", "s3://tables", False),
    ],
)
@pytest.mark.enemy("policy author", "reads a file")
def test_a_policy_names_objects_below_trusted_addresses_alone(
    address: str, prefix: str, below: bool, tmp_path: Path
) -> None:
    trusted = Trusted(objects=ObjectStore((address_of(prefix, "s3.prefixes"),)))
    if below:
        assert trusted.located(address, tmp_path, "source.path") == location_of(address, "source.path")
    else:
        with pytest.raises(PolicyError) as caught:
            trusted.located(address, tmp_path, "source.path")
        assert address in caught.value.message
        assert "trusted.yaml" in caught.value.hint


@pytest.mark.enemy("policy author", "reads a file")
@pytest.mark.parametrize(
    "name",
    [
        "people.yaml",
        "store.key",
        "x.PEM",
        "ann.token",
        "Trusted.yaml",
        "people.yaml ",
        " notices.yaml",
        "a.key  ",
    ],
)
def test_no_object_that_is_a_key_is_read(name: str, tmp_path: Path) -> None:
    trusted = Trusted(objects=ObjectStore((ObjectAddress("tables", ""),)))
    with pytest.raises(PolicyError, match="a key or a list of people"):
        trusted.located(f"s3://tables/{name}", tmp_path, "source.path")
