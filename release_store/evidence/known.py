"""Which scripts and texts releasegate wrote into bundles: any other may be of somebody who wants it run.

A bundle's script and README are no evidence, but a reader may run the one and do what the other says. So what
is found of them is told before all else, and depends on nothing else in the bundle.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from release_store.evidence.findings import Finding
from release_store.evidence.script import script
from release_store.evidence.zip_file import Archive
from release_store.protocol.names import README, SCRIPT

# SHA-256 of each script that an earlier releasegate wrote. The script of this one compares itself.
EARLIER_SCRIPTS = frozenset(
    {
        "83e1e60485af4d0dce4148434a506b3f1e791a8690b91fdc3beac8b106bc4ed8",
        "fec22e134d29ef21b6e4e2be982bc43c43cf19151cfe5b830157d643d367c466",
        "ef4ff50c83c19ca116051b49970c1a1459c595085b1bd11facb7a824137e931c",
        "60dc98feac3e70199ec14926089a62ce69e8dbc8c3459d4ef2a545891a7f329b",
        "f30c8a2f9747532044b08d8ca76c8552880a290c0434ef29561d0b1fc6d0716b",
        "da4e88a7bb82c8fcec02a34487ed63868a5cbaad4627454ca9800de7d449d296",
        "3005c3532fd6bc930db9a3ffa48586b8456b7dabf6df425130a1ac395137748f",
        "9533144279c346dce243e0136ec4fc0341824aa84f276afe284847ed81e3b39d",
        "9d14c3855f82eb50eb4933118c4014a2317ba152b3e156f996523aec6f4f9a2d",
        "1730e07cdd49952c4fc58a152f20b2308fcd947d19368f231cd9774f4ca6c6b2",
        "961a80cabc08c5e2a1f975a3264d5cd4244ba4bce687853318d43bd22bd1af5d",
        "a1608ce405ff0e3097805b092ce19bc0031ce440859227605c411ac9c8f71930",
        "e99784395bf21eeb738a2f1370dbf6c98aaf329443dc8fc312a9ba90f4143a4e",
        "d52725503e5f11d5979a4d4c249f1649f027110851f1f0a64f1bba2f6f055e81",
        "e0a3bf0b643e15053d5b727b8f749f61a043877bacb5b958111169b6aa856747",
        "6105a13a45497a46ab71900cbfda8adb5d73a27ee92eb2a87c60a484032abaa8",
        "1b7da413a29dc38012fe9d1ce47d075245bf8114f1b962a99b662563f27932fe",
        "d0b3d146172f8325acaf9f849a9c60b5ffe239d314a8a5c4c3cc17d941882a95",
        "b035ac422f292d82ebcb61fb77a436857dd7e4aa7a0916f2e4681bbc6fb92559",
        "6e5499bc3270a309c48cf03e4998c20599527fdff04dc9df161ac13738f32d46",
        "7125648acc5a34e4b99b36cf70e2dcfedf80dcb2768389a325452fd9f0cd73e8",
        "b60b62f9348dc6b77e1dff9bcebd833c24218ff0cc4e57db558ff960ddcd68b3",
        "238352b18077a425a0a56b062c28a219558823f6d55823662e611d2caaf389fe",
        "26c0d8af00b3d74e75133be98e074222b1e395d76d2fb78688ec8ddde0a6dd21",
        "6a03d5a179902cdabd373f89876acbc815d10ab5efc1cfd517eeb92dededcc48",
        "34b8d6ef2b79b4fe70972cb23b6dbf83973f16f9cd0a398bbc9c7085b26ebb57",
        "9e72ef560a6effbe87fa07c39ad8c956bb3d1ccfe66ae718df60dda2e61e7234",
        "81294a183c9b0f298ff3711d64401aec67bcf6fd3d00c3b2752f2b296e17b194",
        "a01e75324af47d34e3f6e50f6102d3b84d484de219f0bb3ab518c7da7c570271",
        "94e1905ac9108693a3957910032ba5bfb4a277144da9191be41bf9f279dca622",
        "0dd06b3b5089c6ac07a991e21ec9e1ddcb1f525edc8c94de59c4aca939b505a5",
        "d526c3f7ccbee2215b87b13d6741499f1496faf54d42c54e529685789d3b1308",
        "da8facbd429b0a9d4dff64e5e486c76713184c2ef11f2f4e420da16850cc576f",
        "49d4c4faf0141d3367b9ff2bea6a52e34e9c2e9c97dca3f69b70eb1fd4fd24cb",
        "ff267965b94a0e0725117dae1d05f4eee4ebab65ffc49f71c8c7821bfe36a97b",
        "d5434807f24ae20d8282342643b28d93bcc2c09736886f5e78a25f15342095aa",
        "2fd51bff3c1f650b2c4943eae5c1ee2ecdc18197becf245f9b25095722008a3c",
    }
)
# The same of each README from its third line on: the first two name the release.
READMES = frozenset(
    {
        "4bc2671d48aa9e4d8193ef06e4ecd301021dbbaab336dd14a8997c76aba846bf",
        "67baa5d92382e56ca925ea147e37d1468214c7b9f22c623a7244e0e9808383df",
        "8e959ddbfe98209d883875a6ee277f1715492b8f45a5f1e7e4676614f320ca93",
        "9dd1d9628668d703fad66fad74c8d5dd7b16e6bcadcd672087cc38a549190be8",
        "cf6b2b784e3e0e9e1a8b2b5297f8053e17514e19a419f6e3c002b35568dc6c36",
        "f55ee080a6958af68b54c083f9ee965939acefbe3d58aeba67bcdbf1b3d90628",
        "5ac277f5552c8459e93b6e058832a7087f2b29007434a8de4af8ed2b4b175e70",
        "a1c69fb374c430a2f1c3f8ab43c22d41058d07b3caf5df1901f23e87234bcb4f",
        "816f7f1c5a299563980c56a0b52ab14bfe31564e547ba00a7b46d5f29f118a6f",
        "9268893e91393519c790a426ad25b04b08b29242d2c05824a9f7f7aecdf3d2f2",
        "ee3ca0c40d4a40d8fc1797c033692d583aff15f2072fe35fbbeb62f927ff972b",
    }
)
_TITLE = re.compile(rb"Evidence of the release ([A-Za-z0-9][A-Za-z0-9._-]*)\n(=+)\n")


def check_written(archive: Archive) -> Iterator[Finding]:
    """Yield that the script or the README is none that releasegate wrote, as far as it is known here."""
    own = hashlib.sha256(script()).hexdigest()
    if SCRIPT in archive.members and archive.digest(SCRIPT) not in EARLIER_SCRIPTS | {own}:
        yield Finding(
            SCRIPT,
            "is no script that releasegate wrote, as far as this version knows: do not run it; take that of "
            "`releasegate evidence --script`",
        )
    if README in archive.members and readme_digest(archive.read(README)) not in READMES:
        yield Finding(
            README,
            "is no text that releasegate wrote, as far as this version knows: do not do what it says",
        )


def readme_digest(text: bytes) -> str:
    """Return the digest of a README without the release that it names; empty where it does not begin so."""
    title = _TITLE.match(text)
    if title is None or title.end(2) - title.start(2) != title.end(1):
        return ""
    return hashlib.sha256(text[title.end() :]).hexdigest()
