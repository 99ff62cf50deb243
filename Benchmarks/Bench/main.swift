import FoundationEssentials
import Glibc
import Outlet

// Runs one measurement; `Benchmarks/run` starts a process for each and compares them.
//
//   OutletBench ROW URL CONCURRENCY COUNT [ARGUMENT]
//       runs a row of Rows.swift and prints one line of JSON
//   OutletBench idle -
//       measures the program before its first request
//   OutletBench soak URL COUNT [URL ...]
//       runs many transfers and cancels some of them; prints memory and threads
//   OutletBench plugins URL COUNT FILE [FILE ...]
//       sends many requests through plugins; prints failures and memory

let arguments = CommandLine.arguments
guard arguments.count > 2 else { exit(64) }
let name = arguments[1]

func number(_ index: Int) -> Int { arguments.count > index ? Int(arguments[index]) ?? 1 : 1 }

switch name {
case "idle":
    let transport = CurlTransport(configuration: SessionConfiguration.bare.transport)
    _ = transport.taskExecutor
    Measure().end(name, n: 0, count: 1)
case "soak":
    var configuration = SessionConfiguration.bare
    configuration.httpMaximumConnectionsPerHost = 64
    let urls = [arguments[2]] + arguments.dropFirst(4)
    let soak = Soak(
        CurlTransport(configuration: configuration.transport),
        urls: urls.compactMap { URL(string: $0) },
        count: number(3))
    let lost = soak.run(200)
    print("lost or repeated: \(lost), at the end \(Soak.resources())")
    exit(lost == 0 ? 0 : 1)
case "plugins":
    let url = arguments[2]
    let host = try PluginHost.load(arguments.dropFirst(4).map { .file($0) })
    for failure in host.failures { throw failure }
    let session = Session(plugins: host)
    let unit = Unit.request(of: session, Setting(url: url, argument: ""))
    var failed = 0
    for tenth in 1...10 {
        let work = Work(unit, count: number(3) / 10)
        await work.run(64)
        failed += work.failed
        print("\(tenth * (number(3) / 10)): \(Soak.resources()), failed \(failed)")
    }
    let faults = host.status.map { "\($0.id) \($0.faults.values.reduce(0, +))" }
    print("faults: \(faults.joined(separator: ", ")), left behind: \(await host.shutDown())")
    exit(failed == 0 ? 0 : 1)
default:
    guard let row = rows[name] else { exit(64) }
    let n = number(3)
    let count = number(4)
    // Without a warm-up, the setup before the first request is part of the measurement.
    var measure = Measure()
    let unit = try row.make(
        Setting(url: arguments[2], argument: arguments.count > 5 ? arguments[5] : ""))
    var failed = 0
    if row.warmsUp {
        let warmUp = Work(unit, count: count / 10 + n)
        await warmUp.run(n)
        failed = warmUp.failed
        measure = Measure()
    }
    let work = Work(unit, count: count)
    await work.run(n)
    measure.end(name, n: n, count: count, latencies: work.latencies)
    exit(failed + work.failed == 0 ? 0 : 1)
}
