import FoundationEssentials
import Glibc
import OutletCurl
import OutletHTTP
import OutletPluginHost
import OutletProvider
import OutletSession
import OutletTransport

// One measurement in a process of its own; `Benchmarks/run` starts them and compares.
//
//   OutletBench transport URL CONCURRENCY COUNT
//   OutletBench session-callback-inline|session-callback-queue|session-defaults URL CONCURRENCY COUNT
//   OutletBench session-async|session-executor URL CONCURRENCY COUNT
//   OutletBench provider-plugins URL CONCURRENCY COUNT PLUGIN
//   OutletBench tls-fresh URL COUNT CA_DIRECTORY   (URL: one where the server closes the connection)
//   OutletBench inflight URL COUNT
//   OutletBench download-file URL PATH
//   OutletBench download-memory URL
//   OutletBench idle -
//   OutletBench soak URL COUNT [URL ...]

let arguments = CommandLine.arguments
guard arguments.count > 2 else { exit(64) }
let what = arguments[1]
let url = arguments[2]

func number(_ index: Int) -> Int { arguments.count > index ? Int(arguments[index]) ?? 1 : 1 }

var configuration = SessionConfiguration.default
configuration.proxy = .none
configuration.headers = HTTPHeaders()
configuration.timeoutIntervalForResource = 600
configuration.httpMaximumConnectionsPerHost = 100_000
configuration.maximumConnections = 100_000

var job = TransferJob(request: HTTPRequest(url: URL(string: url), headers: requestFields))
var failed = 0

/// Warms up with a tenth, then measures.
@MainActor
func measureTransport(_ transport: CurlTransport, _ name: String, n: Int, count: Int) {
    let warmUp = TransportWork(transport, job, count: count / 10 + n)
    warmUp.run(n)
    let work = TransportWork(transport, job, count: count)
    let measure = Measure()
    work.run(n)
    measure.end(name, n: n, count: count, latencies: work.latencies)
    failed = warmUp.failed + work.failed
}

switch what {
case "transport":
    measureTransport(
        CurlTransport(configuration: configuration.transport), what, n: number(3), count: number(4))
case "session-callback-inline", "session-callback-queue", "session-async", "session-executor",
    "session-defaults":
    // As a session is made without a word about it: with its own header fields.
    if what == "session-defaults" { configuration.headers = .default }
    let n = number(3)
    let count = number(4)
    let session = Session(
        transport: CurlTransport(configuration: configuration.transport),
        configuration: configuration,
        delivery: what == "session-callback-inline" ? .inline : .queued)
    let warmUp = SessionWork(session, url, count: count / 10 + n)
    let work = SessionWork(session, url, count: count)
    let executor = what == "session-executor" ? session.taskExecutor : nil
    let isAsync = what == "session-async" || what == "session-executor"
    if isAsync { await warmUp.runAsync(n, on: executor) } else { warmUp.run(n) }
    let measure = Measure()
    if isAsync { await work.runAsync(n, on: executor) } else { work.run(n) }
    measure.end(what, n: n, count: count, latencies: work.latencies)
    failed = warmUp.failed + work.failed
case "provider-plugins":
    let n = number(3)
    let count = number(4)
    guard arguments.count > 5, let address = URL(string: url),
        let host = try? PluginHost.load(directories: [], files: [arguments[5]]),
        host.failures.isEmpty
    else { exit(64) }
    let session = Session(
        transport: CurlTransport(configuration: configuration.transport),
        configuration: configuration,
        interceptor: host.interceptor)
    let provider = Provider<MeasuredTarget>(session: session, plugins: host.providerPlugins)
    let warmUp = ProviderWork(provider, address, count: count / 10 + n)
    let work = ProviderWork(provider, address, count: count)
    warmUp.run(n)
    let measure = Measure()
    work.run(n)
    measure.end(what, n: n, count: count, latencies: work.latencies)
    failed = warmUp.failed + work.failed
    _ = host.shutDownAndWait()
case "tls-fresh":
    configuration.certificateAuthorities = .directory(path: arguments[4])
    measureTransport(
        CurlTransport(configuration: configuration.transport), what, n: 1, count: number(3))
case "inflight":
    let count = number(3)
    let work = TransportWork(
        CurlTransport(configuration: configuration.transport), job, count: count)
    let measure = Measure()
    work.run(count)
    // The server answers nobody before all are there: the first answer tells when they were.
    let pending = Double(work.latencies.first ?? 0) / 1e9
    measure.end(what, n: count, count: count, extra: "\"pending_s\":\(pending)")
    failed = work.failed
case "download-file", "download-memory":
    if what == "download-file" {
        unlink(arguments[3])
        job.delivery = .file(path: arguments[3], offset: 0)
    }
    let work = TransportWork(CurlTransport(configuration: configuration.transport), job, count: 1)
    let measure = Measure()
    work.run(1)
    measure.end(what, n: 1, count: 1)
    failed = work.failed
case "idle":
    let transport = CurlTransport(configuration: configuration.transport)
    _ = transport.taskExecutor
    Measure().end(what, n: 0, count: 1)
case "soak":
    configuration.httpMaximumConnectionsPerHost = 64
    let urls = [url] + arguments.dropFirst(4)
    let soak = Soak(
        CurlTransport(configuration: configuration.transport),
        urls: urls.compactMap { URL(string: $0) },
        count: number(3))
    failed = soak.run(200)
    print("lost or repeated: \(failed), at the end \(Soak.resources())")
default: exit(64)
}
exit(failed == 0 ? 0 : 1)
