//! Compiles programs/NAME/NAME.bpf.c, each into NAME.bpf.o of the build's directory. Nothing but clang is
//! needed: the programs bring the few kernel structures that they read. For the tests it compiles their arithmetic,
//! tests/arithmetic.c, for user space.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

/// Types (-g) are what libbpf fits to the running kernel.
const FOR_THE_KERNEL: &[&str] = &["-target", "bpf", "-O2", "-g", "-fdebug-compilation-dir=."];
/// Any overflow, unsigned ones too, ends the test.
const FOR_TESTS: &[&str] = &[
    "-O2",
    "-fPIC",
    "-fsanitize=undefined,unsigned-integer-overflow",
    "-fsanitize-trap=undefined,unsigned-integer-overflow",
];

fn main() {
    println!("cargo::rerun-if-changed=programs");
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to build"));
    for entry in fs::read_dir("programs").expect("the folder of programs is beside this file") {
        let folder = entry.expect("a folder can be read").path();
        let name = folder.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        if folder.is_dir() {
            compile(
                FOR_THE_KERNEL,
                &folder.join(format!("{name}.bpf.c")),
                &target.join(format!("{name}.bpf.o")),
            );
        }
    }
    println!("cargo::rerun-if-changed=tests/arithmetic.c");
    let arithmetic = target.join("arithmetic.o");
    compile(FOR_TESTS, Path::new("tests/arithmetic.c"), &arithmetic);
    println!("cargo::rustc-link-arg-tests={}", arithmetic.display());
}

fn compile(how: &[&str], source: &Path, object: &Path) {
    let mut clang = Command::new("clang");
    clang.args(how).args(["-Wall", "-c", "-o"]).arg(object).arg(source);
    match clang.status() {
        Ok(status) if status.success() => {}
        Ok(status) => {
            fail(&format!("clang could not compile {} ({status}); its messages are above", source.display()))
        }
        Err(error) => fail(&format!(
            "clang is needed to compile {}, and can't be started: {error}\n\
             install it, on Debian or Ubuntu by `apt-get install clang`; tools/setup.sh does it, too",
            source.display()
        )),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    exit(1);
}
