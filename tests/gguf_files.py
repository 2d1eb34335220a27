"""Small GGUF files for the tests: one made by llama.cpp's own package, and any other byte by byte.

The golden file was made once by `gguf` 0.19.0 (llama.cpp's Python package) and is held zlib-compressed in base 85:
a GGUFWriter for the architecture "llama" took the metadata of GOLDEN_METADATA by its add_string, add_bool,
add_uint8 ... add_array, and for each format a tensor named like it: `golden_weights()` through
`quants.quantize(x, format)`. GOLDEN_DIGESTS are the SHA-256 of the bytes that `quants.dequantize` gave back.
"""

import base64
import struct
import zlib

import numpy as np

KINDS = {
    "u8": 0,
    "i8": 1,
    "u16": 2,
    "i16": 3,
    "u32": 4,
    "i32": 5,
    "f32": 6,
    "bool": 7,
    "u64": 10,
    "i64": 11,
    "f64": 12,
}
CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "B"}
CODES |= {"u64": "Q", "i64": "q", "f64": "d"}
STRING, ARRAY = 8, 9
F32, Q4_1 = 0, 3


def golden_weights():
    """The (2, 64) float32 numbers that each tensor of the golden file was quantised from."""
    return (np.sin(np.arange(128) * 1.7) * np.linspace(0.1, 3, 128)).astype(np.float32).reshape(2, 64)


def golden_file():
    return zlib.decompress(base64.b85decode(GOLDEN))


def string(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(raw)) + raw


def number(kind, value):
    return struct.pack("<I" + CODES[kind], KINDS[kind], value)


def text(value):
    return struct.pack("<I", STRING) + string(value)


def strings(values):
    return struct.pack("<IIQ", ARRAY, STRING, len(values)) + b"".join(map(string, values))


def numbers(kind, values):
    packed = struct.pack(f"<{len(values)}{CODES[kind]}", *values)
    return struct.pack("<IIQ", ARRAY, KINDS[kind], len(values)) + packed


def entries(**metadata):
    """Metadata by name, each already packed; two underscores stand for a dot."""
    return [(name.replace("__", "."), value) for name, value in metadata.items()]


def tensor(name, dimensions, format=F32, offset=0, announced=None):
    """A row of the table: dimensions in the file's order, columns first."""
    count = len(dimensions) if announced is None else announced
    sizes = struct.pack(f"<{len(dimensions)}Q", *dimensions)
    return string(name) + struct.pack("<I", count) + sizes + struct.pack("<IQ", format, offset)


def gguf(metadata=(), tensors=(), data=b"", *, version=3, alignment=32, counts=None):
    """The bytes of a file. `counts` announces (tensors, entries) other than are there."""
    head = b"GGUF" + struct.pack("<IQQ", version, *(counts or (len(tensors), len(metadata))))
    head += b"".join(string(name) + value for name, value in metadata) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data


GOLDEN_METADATA = {
    "general.architecture": "llama",
    "text": "naïve 東京 🙂",
    "yes": True,
    "no": False,
    "u8": 255,
    "i8": -128,
    "u16": 65535,
    "i16": -32768,
    "u32": 2**32 - 1,
    "i32": -(2**31),
    "u64": 2**64 - 1,
    "i64": -(2**63),
    "f32": float(np.float32(0.1)),
    "f64": 0.1,
    "words": ["a", "", "Ġb"],
    "numbers": [3, -1, 2],
    "truths": [True, False, True],
    "halves": [0.5, -1.5],
}

GOLDEN_DIGESTS = {
    "F32": "3f0aadd4e9894b5a4f7e70baf15a08e2a95c9036f1cc0710ab92e1183cf8f6ad",
    "F16": "2bb8e4a184d75a901352f1903faefe1deb46b55af85a7df414657dafa3be099b",
    "BF16": "429e4b333abe8b016e5a1c41964957804fec4e022d40fb55a7bedcbf850986bf",
    "Q4_0": "00d1609b0395c693d1d4ee691d0584becb70e08039fa52e21bc45a5af1ed2ffd",
    "Q4_1": "df08c4da5ec71634e740cff4970e717b321b34ff7d2dc3e1282d39ca46f4dd11",
    "Q5_0": "3d0d46d899bc312f684010e2226d387a695d8b04f3435461bc2eda53ca4d6af1",
    "Q5_1": "9ffdb962ebb55547f69aec0b9dd28e0e214e751e2c2623e6b0aa85046616f878",
    "Q8_0": "bcb0d827552fea2b05e312daf42457f897fd040a12e6460ff3867664cbccdc36",
}

GOLDEN = (
    "c-nQ6dsI_b7Kg(tysLmqzybmV5h#Hq5F;e_Tv`z5LO~I2Xe~sZO7H;zgF^?9cJ<+_1x1N;P@J}+NC_c89`~FZM8E>BQpU>oz$ws("
    "tF2QhSdalGp^2pw_aA59efGD1`<#7GR8-<76AFc5LHXV6^?sG!XQuB<&*ckf{M^*6J;L-<VSaA9jy2Qg1p<B!-&7w6(?vpyMI!t7"
    "*S;!9ch`I-8CBG~|58(R#6+JdOwTjdIwNBPxnCDj3}HT7x6T{FJ!~WGT4E^9r?YgK`FX>}9y)8`^ACc_FkK)PF-(U3%zsd<U@JZK"
    "Cz2IxO?ht5=?o@=s&#$6z1-(ptY90h6Iba>4h%Cnv_Cg3&r&~B18b!Be1otd(Q$saxnT<VIlI$y7fQ_*5hnUW>Ml(+j5;@8n6*Hf"
    "|EY<Q0m$MD3epz<>Y~AF4Nxc~G8AlLGIS|iA1=ZuOV7FK_o**MjTQxlcktQ^Shq!b26k(3a?o<D@gisuOJ9!FNv14iLzdUoO@sU^"
    "yR5EmwC-k0SoZR|x_@0_Mp@2&IW*0ciJXYH(ORggQF9Nv1!BCrzR<nU3${u`SSn|VE2+5v_a^KhZVM46s|+G)`oDpG&7K&&xF3`8"
    "%OPG4Axas*O8P1>yGbgFYY%}Bp(~iC4sr(U{82!TGj_Q2Rq#d0Rd`zHj%ZC(@HvkPKJs9oo|6Pjq9g*TCk<;9XCvnIGA{meF7R)x"
    "g|XvV=vbjW@E(c<yY6j4qR6%AN1_BA-PVB(-YG}T^e!Uw_Bk*(oD7E(#pp*PYmnA(99V`Wq3u=z#Oyi=`s&t$*Un!?&uZ%6PKFX_"
    "Zuk(IiwLcDAHq^cTY%mCRwU>-k3=?=z#+Z}IIxrm6nUVmj9b9<7!Ql`9Y%8|g_zgy1F*3n7zro(5H-FW*xs!N>z=eDpErxph;R&a"
    "t+WJ%(s_g{?yDx~CV1XIjZjwH49b$00gt>Pa4C;OD{UpH`Sdtw@yZ6qtF1|I4uqrjtMJypr9n}Y19`SA0r)0c;DoXX{gCqz`Nxcd"
    "W<@>N@|_*|hGR5JDDuEdC@ZkL4eQ8|#}>d#>W;?+R-w!jE6DFMHK5yZ49rJ6kfnQTP;Ry#PMfp`-EtOr^<_^i)_4PcFeVdq-}fWs"
    "fj7aJ%3k|QdILKy%{AK63h8kYFG(k}J<wJrz5KtB_v=1rSxrC2s%V~+ony5Gv)dXZkJ;opp1db0ZKFVDDrd2o>`&!C$u5N+r0-I?"
    "y?Q2WwJchBik%sHNb#(V%6Wx#MitudfHU7Tpn8*?!}(T`qWn82a$_Q~S$2nu)y)!5SgqVo6jY*-GZJ=(u#sQEdKq@8n>mktE<XS("
    "IGJ20IHHUIG3+_?_=`2TZQC8>#+krO;fKU&zzgG%<FX65msCtvhrW(i5@DzuWN=TC;R>5@QBa6FicJl_p(-MoARLIv8C62~S$2!s"
    "j@}j?s@$nQh*fIuKh1R_++jO65c7jxun?Q#*1{bG!stXld<E;r${~US*cr?mv7j3m<oF|JEC4h>cVrHzfPo-P1T;*5-s9$hi*OIJ"
    "2b)10T8m0S2UdZ)h-#1m#mE|*07*!IJ^{Yq3c3uHU_C*iA*>Z_Ll;mbC<034fo_2$Y#0?{{{bQBruHsZ!8KHb#(*WDkV7gH+!)QE"
    "_rMS!kp%q;vVk=T;VL{0I*{9e1ujJo(YUt8o{UBw_zKL2v;-b_6<SGZz!-2KYmguA05*`G*akck`I9$+1D<x3-P#?xQ*(LE`@ab+"
    "JEjBH&C-QWi+rVHT-HdBOWNddt6E-gK;*CWE@e;mIjbMhLdI3LZ8GPkM;L2Z<(fKi!b&m)d?+t4MF3CU6|<pJ?z=<tvE`}XV$BEs"
    "9nY90gc^a<#X$~hK;e=)@vc>EX)uorh#aYZxomQulSJEPSY_+PYEeJj;-miBHDaXN`pD!v7V1Y!_0#J51R0E!cRx-0$GwPE&t|)f"
    "K6vs*>}-H`Q#yU`5hFu=IH$9~w`<zkbUQDoN(;Xwz8&LeHq+}__U*3hQIS=fq%Ssu;hEQ;ll?Eznp;z|rrYL=xd#2CzC1ajqN=Z^"
    "ytsNdQ}vUXF?;Sqx6W%Wv{^#iqhhLekiMhwu%M-2eb@9e(}=f&c%-gN(vmJ3dW)JNt?Ij9ja8fqJF5vbH<=+;mbUMAr8rKH*t>r}"
    "Omn>cbkmg7ZS&WPE$q)82+fYT6q6sPrdoPl|32!aCbRe-r1S`7PohW7ROZiO+B<Dc$?TJ(MYE;ee6NIWS|dZR+~wO;y_9jg_Vu_g"
    "JNK?VIwu-F&dIp+)qYlKhxdOopNhSc+Z(rY&fPyiJ?3<vr#gPC_(p+qsd@3>N6{HC`hWiiPjM>G"
)
