//! A store whose file system or disk fails: full at each write, read-only, forbidden, an error at each request, in use. Nothing
//! acknowledged is lost; it is said what failed, where, and what helps; the check of the store finds it; and when the fault is
//! gone, the store opens and has everything.
//!
//! Where something is about the program, the real `pintle` is run: `cargo xtask test` builds it before.

mod device;
mod full;
mod permission;
mod place;
mod program;
mod read_only;
mod second;

use std::process::ExitCode;

use store_faults::suite::{Case, run};

fn main() -> ExitCode {
    run(
        &[("keep-a-store", permission::keep), ("take-a-store", second::take)],
        &[
            Case { name: "full::tmpfs_is_full_at_each_write", run: || full::at_each_write(full::Kind::Tmpfs) },
            Case { name: "full::ext4_is_full_at_each_write", run: || full::at_each_write(full::Kind::Ext4) },
            Case { name: "full::tmpfs_is_full_when_the_store_opens", run: || full::at_open(full::Kind::Tmpfs) },
            Case { name: "full::ext4_is_full_when_the_store_opens", run: || full::at_open(full::Kind::Ext4) },
            Case { name: "full::what_runs_ends_on_the_ballast", run: full::what_runs_ends_on_the_ballast },
            Case { name: "full::the_program_opens_no_change", run: full::the_program_opens_no_change },
            Case { name: "read_only::when_it_opens", run: read_only::when_it_opens },
            Case { name: "read_only::while_it_is_open", run: read_only::while_it_is_open },
            Case { name: "permission::when_it_opens", run: permission::when_it_opens },
            Case { name: "permission::while_it_is_open", run: permission::while_it_is_open },
            Case { name: "device::an_error_at_each_read", run: || device::an_error_at_each("read") },
            Case { name: "device::an_error_at_each_write", run: || device::an_error_at_each("write") },
            Case { name: "device::an_error_at_each_sync", run: || device::an_error_at_each("sync") },
            Case { name: "device::an_error_at_each_change_of_a_name", run: || device::an_error_at_each("name") },
            Case {
                name: "second::the_program_says_who_has_the_store",
                run: second::the_program_says_who_has_the_store,
            },
            Case { name: "second::one_of_many_gets_the_store", run: second::one_of_many_gets_the_store },
        ],
    )
}
