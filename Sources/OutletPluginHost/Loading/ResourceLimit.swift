import Glibc

/// A resource limit of the process.
package struct ResourceLimit: Equatable {
    /// Its name in plain words, such as `open files`.
    package let name: String
    private let resource: Int32
    private let soft: rlim_t
    private let hard: rlim_t

    /// The soft and the hard limit, to be compared.
    package var values: String { "\(soft) \(hard)" }

    /// The present limits.
    package static var all: [ResourceLimit] {
        [
            ResourceLimit("open files", RLIMIT_NOFILE), ResourceLimit("file sizes", RLIMIT_FSIZE),
            ResourceLimit("memory", RLIMIT_AS), ResourceLimit("data", RLIMIT_DATA),
            ResourceLimit("processor time", RLIMIT_CPU), ResourceLimit("core dumps", RLIMIT_CORE),
            ResourceLimit("stacks", RLIMIT_STACK), ResourceLimit("processes", __RLIMIT_NPROC),
            ResourceLimit("resident memory", __RLIMIT_RSS),
            ResourceLimit("locked memory", __RLIMIT_MEMLOCK),
            ResourceLimit("file locks", __RLIMIT_LOCKS),
            ResourceLimit("pending signals", __RLIMIT_SIGPENDING),
            ResourceLimit("message queues", __RLIMIT_MSGQUEUE),
            ResourceLimit("nice values", __RLIMIT_NICE),
            ResourceLimit("real-time priorities", __RLIMIT_RTPRIO),
            ResourceLimit("real-time processor time", __RLIMIT_RTTIME),
        ]
    }

    /// Whether it is so low a limit of open files that the host itself may need the last one.
    var isLowLimitOfFiles: Bool { resource == Int32(RLIMIT_NOFILE.rawValue) && soft < 64 }

    private init(_ name: String, _ resource: __rlimit_resource) {
        self.name = name
        self.resource = Int32(resource.rawValue)
        var limit = rlimit()
        getrlimit(self.resource, &limit)
        soft = limit.rlim_cur
        hard = limit.rlim_max
    }

    /// Restores the limit, as far as the system permits.
    func restore() {
        var limit = rlimit()
        getrlimit(resource, &limit)
        var wanted = rlimit(rlim_cur: soft, rlim_max: hard)
        if setrlimit(resource, &wanted) == 0 { return }
        wanted = rlimit(rlim_cur: min(soft, limit.rlim_max), rlim_max: limit.rlim_max)
        setrlimit(resource, &wanted)
    }
}
