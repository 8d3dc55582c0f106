"""Installs dgrad into a temporary folder, moves that folder, and uses it from outside.

    install_test.py TEST    one of the functions below that take a folder; called by ctest, which
                            sets the TEST_* variables, CC and CXX (see CMakeLists.txt)
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["TEST_SOURCE"])
BUILD = pathlib.Path(os.environ["TEST_BUILD"])
VERSION = os.environ["TEST_VERSION"]
LIBDIR = os.environ["TEST_LIBDIR"]
CMAKE = os.environ["TEST_CMAKE"]
CC = os.environ["CC"]
CXX = os.environ["CXX"]
EXAMPLES = SOURCE / "examples"
SKIPPED = 77

# What the library may need when it runs: the C++ and C libraries, nothing else.
NEEDED = re.compile(r"(libstdc\+\+|libm|libgcc_s|libc|ld-linux[-a-z0-9_]*)\.so\.\d+")
DOCUMENTS = {"copyright", "README.md", "CHANGELOG.md", "docs/install.md", "docs/semantics.md",
             "docs/usage.md", "examples/one_shot.c", "examples/one_shot.cc", "examples/plan.cc",
             "examples/decoder.cc"}


def run(*command, fails=False, **options):
    """The output of a command that must succeed, or must fail."""
    print("+", *command, flush=True)
    options.setdefault("stderr", subprocess.STDOUT)
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                          check=False, **options)
    if (done.returncode != 0) != fails:
        sys.exit(f"{done.stdout}\nexit status {done.returncode}, expected "
                 f"{'a failure' if fails else 'success'}")
    return done.stdout


def expect(true, text):
    if not true:
        sys.exit(f"FAILED: {text}")


def install(folder):
    """An installed tree that was moved since, so that nothing can rely on its first place."""
    run(CMAKE, "--install", BUILD, "--prefix", folder / "first place")
    return (folder / "first place").rename(folder / "moved")


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


def expected_files():
    soname = f"libdgrad.so.{soversion()}"
    names = {"libdgrad.a", "libdgrad.so", soname, f"libdgrad.so.{VERSION}", "pkgconfig/dgrad.pc"}
    names |= {f"cmake/dgrad/{name}.cmake" for name in (
        "dgradConfig", "dgradConfigVersion", "dgrad-shared", "dgrad-static",
        f"dgrad-shared-{os.environ['TEST_CONFIGURATION']}",
        f"dgrad-static-{os.environ['TEST_CONFIGURATION']}")}
    return ({f"{LIBDIR}/{name}" for name in names} | {"include/dgrad/dgrad.h", "include/dgrad/dgrad.hpp"}
            | {f"share/doc/dgrad/{name}" for name in DOCUMENTS})


def soversion():
    """Of the ABI; while the version is 0.x.y it is 0."""
    return VERSION.split(".")[0]


def check_layout(prefix):
    found = {path.relative_to(prefix).as_posix() for path in files_below(prefix)}
    # The command line is part of the installation where it was built.
    cli = {name for name in found if re.fullmatch(
        rf"bin/dgrad|{re.escape(LIBDIR)}/cmake/dgrad/dgrad-cli(-\w+)?\.cmake|share/man/.*|"
        r"share/bash-completion/.*", name)}
    missing, extra = expected_files() - found, found - cli - expected_files()
    expect(not missing and not extra, f"missing {sorted(missing)}, extra {sorted(extra)}")


def build(project, prefix, folder, *options):
    """Builds a project of this folder against an installation; returns the build folder."""
    run(CMAKE, "-S", HERE / project, "-B", folder, "-G", os.environ["TEST_GENERATOR"],
        f"-DEXAMPLES={EXAMPLES}", f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    cache = (folder / "CMakeCache.txt").read_text(encoding="utf-8")
    expect(f"dgrad_DIR:PATH={prefix}/{LIBDIR}/cmake/dgrad\n" in cache, "another dgrad was found")
    run(CMAKE, "--build", folder)
    return folder


def check_program(program, library, **options):
    """Runs it; library is the folder its libdgrad.so must come from, None: it must not need one."""
    run(program, **options)
    listed = run("ldd", program, **options)
    found = re.findall(r"libdgrad\S* => (\S+)", listed)
    if library is None:
        expect("libdgrad" not in listed, listed)
    else:
        expect([pathlib.Path(name).parent for name in found] == [library], listed)


def layout(folder):
    prefix = install(folder)
    check_layout(prefix)
    # No file knows where it was built or installed.
    for path in files_below(prefix):
        data = path.read_bytes()
        for place in (SOURCE, BUILD, folder / "first place"):
            expect(os.fsencode(place) not in data, f"{path} contains {place}")


def libraries(folder):
    prefix = install(folder)
    library = prefix / LIBDIR / "libdgrad.so"
    dynamic = run("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    expect(needed and all(NEEDED.fullmatch(name) for name in needed), f"needs {needed}")
    expect(f"[libdgrad.so.{soversion()}]" in dynamic, "wrong soname")
    for word in ("RPATH", "RUNPATH", "TEXTREL"):
        expect(word not in dynamic, f"{word} in {dynamic}")
    expect(re.search(r"GNU_STACK.* RW ", run("readelf", "-lW", library)), "executable stack")

    # The static one has the same C functions; everything else has a C++ name, and what is not an
    # instance of a template or inline (weak) is in a namespace of ours.
    listed = run("nm", "-g", "--defined-only", prefix / LIBDIR / "libdgrad.a")
    symbols = set(re.findall(r"^[0-9a-f]+ (\w) (\S+)$", listed, re.MULTILINE))
    functions = {name for kind, name in symbols if kind == "T" and name.startswith("dgrad_")}
    exported = re.findall(r" T (\S+)", run("nm", "-D", "--defined-only", library))
    expect(len(functions) > 20 and functions == set(exported), f"{functions ^ set(exported)}")
    for kind, name in sorted(symbols):
        expect(name in functions or kind in "VWu" or re.match(r"_Z.*5dgrad", name),
               f"libdgrad.a defines {kind} {name}")


def find_package(folder):
    prefix = install(folder)
    outside = build("project", prefix, folder / "outside")
    for name in ("one_shot_c", "one_shot_cc", "plan_cc", "decoder_cc"):
        check_program(outside / f"{name}_dgrad", prefix / LIBDIR)
        check_program(outside / f"{name}_static", None)


def c_project(folder):
    prefix = install(folder)
    outside = build("c_project", prefix, folder / "outside")
    check_program(outside / "one_shot_c_dgrad", prefix / LIBDIR)
    check_program(outside / "one_shot_c_static", None)
    # A machine may have one of the two alone.
    for path in (prefix / LIBDIR).glob("cmake/dgrad/dgrad-shared*.cmake"):
        path.unlink()
    for path in (prefix / LIBDIR).glob("libdgrad.so*"):
        path.unlink()
    outside = build("c_project", prefix, folder / "static alone")
    expect(not (outside / "one_shot_c_dgrad").exists(), "dgrad::dgrad without its library")
    check_program(outside / "one_shot_c_static", None)


def requests(folder):
    """What find_package accepts and refuses."""
    prefix = install(folder)
    major, minor, patch = (int(part) for part in VERSION.split("."))
    for number, (request, legal, text) in enumerate((
            (f"{VERSION};EXACT;REQUIRED", True, "found: 1; shared TRUE; static TRUE"),
            (f"{major}.{minor};REQUIRED;COMPONENTS;static", True, "shared ; static TRUE"),
            ("REQUIRED;COMPONENTS;shared;OPTIONAL_COMPONENTS;nonsense", True,
             "found: 1; shared TRUE; static ; nonsense FALSE"),
            ("COMPONENTS;nonsense", True, "found: 0"),
            ("REQUIRED;COMPONENTS;nonsense", False,
             "There is no component nonsense; installed are: shared;static"),
            # A file of that name exists, but it is no component.
            (f"REQUIRED;COMPONENTS;static-{os.environ['TEST_CONFIGURATION']}", False,
             "There is no component static-"),
            (f"{major}.{minor}.{patch + 1};REQUIRED", False, f"version: {VERSION}"),
            (f"{major}.{minor + 1};REQUIRED", False, f"version: {VERSION}"),
            (f"{major + 1};REQUIRED", False, f"version: {VERSION}"))):
        output = run(CMAKE, "-S", HERE / "c_project", "-B", folder / f"outside{number}", "-G",
                     os.environ["TEST_GENERATOR"], f"-DEXAMPLES={EXAMPLES}",
                     f"-DCMAKE_PREFIX_PATH={prefix}", f"-DREQUEST={request}", fails=not legal)
        expect(text in " ".join(output.split()), f"{text} is not in:\n{output}")
    if major == 0 and minor > 0:  # until 1.0 another minor version is another interface
        run(CMAKE, "-S", HERE / "c_project", "-B", folder / "older", f"-DEXAMPLES={EXAMPLES}",
            f"-DCMAKE_PREFIX_PATH={prefix}", "-DREQUEST=0.0;REQUIRED", fails=True)


def pkg_config(folder):
    prefix = install(folder)
    env = {**os.environ, "PKG_CONFIG_PATH": str(prefix / LIBDIR / "pkgconfig")}
    there = {**env, "LD_LIBRARY_PATH": str(prefix / LIBDIR)}

    def flags(*options):
        # The shell takes its words apart; a folder with a space would need more of its users.
        return run("pkg-config", *options, "dgrad", env=env).split()

    expect(flags("--modversion") == [VERSION], "wrong version")
    expect("-DDGRAD_STATIC" not in flags("--cflags"), "--cflags are for the static library")
    for compiler, name, options in ((CC, "one_shot.c", []), (CXX, "one_shot.cc", ["-std=c++20"]),
                                    (CXX, "plan.cc", ["-std=c++20"])):
        program = folder / name.replace(".", "_")
        run(compiler, *options, EXAMPLES / name, "-o", program, *flags("--cflags", "--libs"))
        check_program(program, prefix / LIBDIR, env=there)
        # All static; then ldd has nothing to say.
        program = folder / (program.name + "_static")
        run(compiler, *options, EXAMPLES / name, "-static", "-o", program,
            *flags("--static", "--cflags", "--libs"))
        run(program)
        expect("NEEDED" not in run("readelf", "-dW", program), f"{program} is not static")

    # Only dgrad static: what --static says is enough for that too.
    for library in (prefix / LIBDIR).glob("libdgrad.so*"):
        library.unlink()
    run(CC, EXAMPLES / "one_shot.c", "-o", folder / "partly", *flags("--static", "--cflags", "--libs"))
    check_program(folder / "partly", None)

    # A compiler set to an older C++ is told what is missing.
    expect("needs C++20" in run(CXX, "-std=c++17", "-fsyntax-only", EXAMPLES / "one_shot.cc",
                                *flags("--cflags"), fails=True), "no word of C++20")


def subproject(folder):
    """Configured only: building it would build the engine once more."""
    run(CMAKE, "-S", HERE / "subproject", "-B", folder / "outside", "-G",
        os.environ["TEST_GENERATOR"], f"-DSOURCE={SOURCE}", f"-DEXAMPLES={EXAMPLES}")
    run(CMAKE, "--install", folder / "outside", "--prefix", folder / "prefix")
    expect(not files_below(folder / "prefix"), "a subproject installs files")


def package(folder, kind, pattern):
    run(os.environ["TEST_CPACK"], "--config", BUILD / "CPackConfig.cmake", "-G", kind, "-B", folder)
    found = list(folder.glob(pattern))
    expect(len(found) == 1, f"cpack made {found}")
    return found[0]


def tarball(folder):
    archive = package(folder, "TGZ", "*.tar.gz")
    run("tar", "-xf", archive, "-C", folder)
    prefix = folder / archive.name[:-len(".tar.gz")]
    check_layout(prefix)
    outside = build("c_project", prefix, folder / "outside")
    check_program(outside / "one_shot_c_dgrad", prefix / LIBDIR)


def deb(folder):
    """Unpacked, not installed."""
    archive = package(folder, "DEB", "*.deb")
    fields = run("dpkg-deb", "-f", archive)
    expect(f"Package: dgrad\nPriority: optional\nSection: libdevel\nVersion: {VERSION}\n" in fields,
           "wrong fields")
    depends = re.findall(r"([a-z][a-z0-9+.-]+)(?: \([^)]*\))?", re.search(r"^Depends: (.*)$", fields,
                                                                         re.MULTILINE).group(1))
    # libzip4: the command line alone, where it was built.
    expect({"libc6", "libstdc++6"} <= set(depends) <= {"libc6", "libstdc++6", "libgcc-s1", "libzip4"},
           f"depends on {depends}")
    expect(run("dpkg-deb", "-I", archive, "shlibs").split() ==
           ["libdgrad", soversion(), "dgrad", "(>=", VERSION + ")"], "wrong shlibs")
    expect(all(line.split()[1] == "root/root" and not line.startswith(("-rwxrwx", "drwxrwx"))
               for line in run("dpkg-deb", "-c", archive).splitlines()), "wrong owners or modes")
    run("dpkg-deb", "-x", archive, folder / "root")
    prefix = folder / "root" / "usr"
    expect([path.name for path in (folder / "root").iterdir()] == ["usr"], "files outside /usr")
    check_layout(prefix)
    outside = build("c_project", prefix, folder / "outside")
    check_program(outside / "one_shot_c_dgrad", prefix / LIBDIR)


def deb_on_system(folder):
    """Installed, used without any path, and removed. Only where a machine may be changed."""
    if os.environ.get("DGRAD_TEST_SYSTEM") != "1" or os.geteuid() != 0:
        print("skipped: installs a package on this machine; needs root and DGRAD_TEST_SYSTEM=1")
        sys.exit(SKIPPED)
    if subprocess.run(["dpkg-query", "-s", "dgrad"], capture_output=True, check=False).returncode == 0:
        print("skipped: dgrad is installed on this machine")
        sys.exit(SKIPPED)
    archive = package(folder, "DEB", "*.deb")
    names = [line.split()[-1][1:] for line in run("dpkg-deb", "-c", archive).splitlines()
             if line.startswith("-")]
    try:
        run("dpkg", "-i", archive)
        usr = pathlib.Path("/usr")
        run(CC, EXAMPLES / "one_shot.c", "-ldgrad", "-o", folder / "bare")
        check_program(folder / "bare", pathlib.Path("/lib") / pathlib.Path(LIBDIR).relative_to("lib"))
        run(CXX, "-std=c++20", EXAMPLES / "plan.cc", "-o", folder / "plan",
            *run("pkg-config", "--cflags", "--libs", "dgrad").split())
        run(folder / "plan")
        build("c_project", usr, folder / "outside")
        run(folder / "outside" / "one_shot_c_dgrad")
        run(folder / "outside" / "one_shot_c_static")
    finally:
        run("dpkg", "--purge", "dgrad")
    left = [name for name in names if pathlib.Path(name).exists()]
    expect(names and not left, f"left behind: {left}")


def main():
    tests = (layout, libraries, find_package, c_project, requests, pkg_config, subproject, tarball,
             deb, deb_on_system)
    chosen = [test for test in tests if [test.__name__] == sys.argv[1:]]
    if not chosen:
        sys.exit(__doc__)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dgrad-install.")).resolve()
    try:
        chosen[0](folder)
    finally:
        shutil.rmtree(folder)
    print("ok")


if __name__ == "__main__":
    main()
