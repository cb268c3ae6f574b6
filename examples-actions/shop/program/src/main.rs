//! The shop: the small, real application that Pintle's examples install and upgrade. A server and a worker share a
//! database; its migration refuses to run while a worker is connected, and records how often it ran, so an upgrade that
//! does its steps in the wrong order, or twice, is found out.

mod data_dir;
mod error;
mod migration;
mod orders;
mod presence;
mod say;
mod schema;
mod server;
mod status;
mod store;
mod version;
mod worker;

use std::{error::Error, net::SocketAddr, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    data_dir::DataDir,
    error::ShopError,
    say::{complain, say},
    status::Status,
    store::Store,
    version::Version,
};

const EXIT_CODES: &str = "Exit codes: 0 done; 1 failed; 2 wrong use, or a file VERSION with an unknown version; \
    3 the schema does not fit this version; 4 refused, a worker is connected; 5 refused, a migration is running.";

/// A small shop: HTTP server, worker and database.
#[derive(Parser)]
#[command(name = "shop", after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Answer HTTP requests: `/`, `/healthz`, and `POST /orders`
    Server {
        /// Address to listen on; port 0 takes a free one and prints it
        #[arg(long, env = "SHOP_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,
        #[command(flatten)]
        data: Data,
    },
    /// Ship the queued orders until SIGTERM
    Worker {
        /// File that is there while the worker is ready [default: DIR/worker.ready]
        #[arg(long, value_name = "FILE")]
        ready: Option<PathBuf>,
        #[command(flatten)]
        data: Data,
    },
    /// Look after the database
    #[command(subcommand)]
    Db(Db),
}

#[derive(Subcommand)]
enum Db {
    /// Give an empty database the schema of this version
    Init {
        #[command(flatten)]
        data: Data,
    },
    /// Bring the schema to this version; refuses while a worker is connected
    Migrate {
        /// Milliseconds to take for each version on the way
        #[arg(long, env = "SHOP_MIGRATE_MS", value_name = "MS", default_value_t = 300)]
        pace_ms: u64,
        #[command(flatten)]
        data: Data,
    },
    /// Show the schema, the orders, and how often migrations ran
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        data: Data,
    },
}

#[derive(Args)]
struct Data {
    /// Data directory
    #[arg(long = "data", env = "SHOP_DATA", value_name = "DIR", default_value = "data")]
    dir: PathBuf,
}

impl Data {
    fn make(&self) -> Result<DataDir, ShopError> {
        DataDir::make(&self.dir)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut message = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                message = format!("{message}: {cause}");
                source = cause.source();
            }
            complain(format_args!("{message}"));
            ExitCode::from(error.exit_code())
        }
    }
}

fn run() -> Result<(), ShopError> {
    let version = Version::of_program()?;
    let matches = Cli::command().version(version.as_str()).get_matches();
    let Cli { command } = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match command {
        Command::Server { listen, data } => server::serve(&data.make()?, version, listen),
        Command::Worker { ready, data } => {
            let dir = data.make()?;
            worker::work(&dir, version, &ready.unwrap_or_else(|| dir.worker_ready()))
        }
        Command::Db(Db::Init { data }) => init(&data.make()?, version),
        Command::Db(Db::Migrate { pace_ms, data }) => {
            migration::migrate(&data.make()?, version, Duration::from_millis(pace_ms))
        }
        Command::Db(Db::Status { json, data }) => print_status(&Status::read(&DataDir::at(&data.dir), version)?, json),
    }
}

fn init(dir: &DataDir, version: Version) -> Result<(), ShopError> {
    let mut store = Store::open(dir)?;
    if store.create(version)? {
        say(format_args!("created the schema {version}"));
    } else {
        store.expect_schema(version)?;
        say(format_args!("the schema is {version} already"));
    }
    Ok(())
}

fn print_status(status: &Status, json: bool) -> Result<(), ShopError> {
    if json {
        let text = serde_json::to_string(status).map_err(|error| ShopError::process("write JSON")(error.into()))?;
        say(format_args!("{text}"));
    } else {
        say(format_args!("{status}"));
    }
    Ok(())
}
