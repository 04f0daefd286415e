//! Tests the arithmetic of the programs, compiled for user space from the source that the kernel runs, against
//! floating-point models of the equations in RFCs and papers. The library is built so that any overflow (including
//! unsigned ones), an excessive shift or a division by zero ends the test.

mod library;
mod loss_based;
mod robust;
mod states;
mod wvegas;
