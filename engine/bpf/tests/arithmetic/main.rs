//! The arithmetic of the programs, compiled for user space from the source that the kernel runs, against models in
//! floating point written from the documents' equations. The library is built so that any overflow, unsigned ones
//! too, a shift too far or a division by zero ends the test.

mod library;
mod loss_based;
mod robust;
mod states;
mod wvegas;
