import CCurl
import Glibc
import OutletPointers
import OutletTransport

/// A libcurl easy handle with the memory its transfers use, one after another.
///
/// Thread: its loop's.
final class EasyHandle {
    // Release builds do not check exclusive access to what each transfer touches, because the loop's driver
    // alone uses it: the checks of all such properties cost 3 % of a transfer's instructions
    // (Benchmarks/count transport).

    let raw: UnsafeMutableRawPointer
    /// libcurl's own words for a failure (`CURLOPT_ERRORBUFFER`).
    let errorText: UnsafeMutablePointer<CChar>
    /// The transfer that runs on the handle, which holds it.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    private(set) var carried: CurlTransfer?
    /// Where the handle stands in its pool.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var place = 0
    /// Opens the sockets on behalf of the transfer's origin.
    let opener: UnsafeMutablePointer<ccurl_opener>
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var headers = HeaderList()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var head = HeadCollector()
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var body = ByteBuffer()
    /// The request's body; other than `.none` only on a marked handle.
    var source = RequestBody.none
    /// A small request body, kept in one place while libcurl sends it.
    var requestBody = ByteBuffer()

    /// The first option that libcurl refused, and why.
    private(set) var refusal: (option: CURLoption, code: CURLcode)?
    /// Options are set that the next transfer may not want.
    #if !DEBUG
        @exclusivity(unchecked)
    #endif
    var isMarked = false

    /// The request goes through a proxy's tunnel, whose heads come as well.
    var isTunnelled = false
    /// How many sockets were open when the request was last sent.
    var socketsAtSend: UInt32 = 0
    /// `CURLOPT_CAINFO` and `CURLOPT_CAPATH`.
    var hasAuthorities = false
    /// `CURLOPT_SSL_CIPHER_LIST`, and with it `CURLOPT_SSL_VERIFYPEER`.
    var policy: ServerTrustPolicy?
    /// `CURLOPT_BUFFERSIZE`.
    var bufferSize = usualBufferSize
    /// libcurl's own choice (`CURL_MAX_WRITE_SIZE`).
    static let usualBufferSize = Int(CURL_MAX_WRITE_SIZE)

    private let setUp: HandleSetUp

    /// `nil` when memory is short.
    init?(_ setUp: HandleSetUp) {
        guard let raw = curl_easy_init() else { return nil }
        self.raw = raw
        self.setUp = setUp
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        opener = .allocate(capacity: 1)
        opener.initialize(
            to: ccurl_opener(
                poller: setUp.poller, tally: nil, opened: 0, may_connect: mayConnect, client: nil))
        // Neither this nor connections and TLS sessions are touched by a reset.
        set(CURLOPT_SHARE, pointer: UnsafeRawPointer(ccurl_share_handle(setUp.share)))
        begin()
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
        opener.deallocate()
    }

    /// Finds the handle in what libcurl keeps for it (`CURLOPT_PRIVATE`).
    static func from(_ client: UnsafeMutableRawPointer) -> EasyHandle {
        ObjectPointer.object(at: client)
    }

    /// Finds the handle in a callback's pointer, the transfer that runs on it, and their loop.
    static func call<Result>(
        _ client: UnsafeMutableRawPointer?, _ body: (EasyHandle, CurlTransfer, EventLoop) -> Result
    ) -> Result? {
        guard let easy = client.map(from), let transfer = easy.carried, let loop = transfer.loop
        else { return nil }
        loop.assertOnLoop()
        return body(easy, transfer, loop)
    }

    /// What callbacks are given.
    var client: UnsafeRawPointer { UnsafeRawPointer(ObjectPointer.unretained(self)) }

    /// Begins to carry a transfer, until the handle is recycled.
    func carry(_ transfer: CurlTransfer) {
        transfer.loop?.assertOnLoop()
        carried = transfer
    }

    private func begin() {
        errorText.pointee = 0
        applyConstants()
        applyConfiguration(setUp.settings)
        applyTLS(setUp.settings)
    }

    /// Makes the handle ready for another transfer.
    ///
    /// - Parameter isClean: Whether the last one ended as it should.
    func recycle(isClean: Bool) {
        carried?.loop?.assertOnLoop()
        carried = nil
        head.reset()
        body.trim()
        requestBody.trim()
        guard isMarked || !isClean || refusal != nil else { return }
        curl_easy_reset(raw)
        isMarked = false
        refusal = nil
        bufferSize = Self.usualBufferSize
        isTunnelled = false
        source = .none
        begin()
    }

    func set(_ option: CURLoption, _ value: Int) {
        note(option, ccurl_set_long(raw, option, value))
    }

    func set(_ option: CURLoption, offset value: Int64) {
        note(option, ccurl_set_offset(raw, option, value))
    }

    func set(_ option: CURLoption, text: String?) {
        note(option, ccurl_set_string(raw, option, text))
    }

    func set(_ option: CURLoption, pointer: UnsafeRawPointer?) {
        note(option, ccurl_set_pointer(raw, option, pointer))
    }

    func note(_ option: CURLoption, _ code: CURLcode) {
        if code != CURLE_OK, refusal == nil { refusal = (option, code) }
    }
}

/// What the handles of a loop are made with.
struct HandleSetUp {
    let poller: OpaquePointer
    let share: OpaquePointer
    let settings: TransportSettings
}

/// The handles of a loop, with the transfers that run on them, and those at rest: making one costs
/// more than a reset.
///
/// Thread: its loop's.
struct HandlePool {
    private let setUp: HandleSetUp
    /// Those in use, then those at rest, the last one to come back first.
    private var handles: [EasyHandle] = []
    /// How many are in use.
    private(set) var inUse = 0
    private var peak = 0
    private var returns = 0

    init(_ setUp: HandleSetUp) {
        self.setUp = setUp
    }

    /// A transfer that runs; `nil` when there is none.
    var anyTransfer: CurlTransfer? { inUse > 0 ? handles[inUse - 1].carried : nil }

    /// A handle that is ready, for a transfer; `nil` when memory is short.
    mutating func take(for transfer: CurlTransfer) -> EasyHandle? {
        if inUse == handles.count {
            guard let handle = EasyHandle(setUp) else { return nil }
            handles.append(handle)
        }
        let handle = handles[inUse]
        handle.place = inUse
        handle.carry(transfer)
        inUse += 1
        peak = max(peak, inUse)
        return handle
    }

    /// Takes a handle back that no multi handle holds any more.
    mutating func put(_ handle: EasyHandle, isClean: Bool) {
        handle.recycle(isClean: isClean)
        inUse -= 1
        if handle.place != inUse {
            handles[inUse].place = handle.place
            handles.swapAt(handle.place, inUse)
        }
        returns += 1
        // As many as were out at once of late, so that one burst does not keep its handles for ever.
        guard returns >= 4096 else { return }
        let keep = max(64, peak)
        if handles.count > keep { handles.removeLast(handles.count - keep) }
        returns = 0
        peak = inUse
    }

    /// Frees the handles.
    mutating func drain() {
        handles = []
    }
}
