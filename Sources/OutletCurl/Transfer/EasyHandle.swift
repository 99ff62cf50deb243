import CCurl
import Glibc
import OutletSession

/// A libcurl easy handle with the memory its transfers use, one after another.
///
/// Thread: its loop's.
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    /// libcurl's own words for a failure (`CURLOPT_ERRORBUFFER`).
    let errorText: UnsafeMutablePointer<CChar>
    var headers = HeaderList()
    var head = HeadCollector()
    var body = ByteBuffer()
    /// A small request body, kept in one place while libcurl sends it.
    var requestBody = ByteBuffer()
    /// The first option that libcurl refused, and why.
    private(set) var refusal: (option: CURLoption, code: CURLcode)?

    /// `nil` when memory is short.
    init?() {
        guard let raw = curl_easy_init() else { return nil }
        self.raw = raw
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.pointee = 0
    }

    deinit {
        curl_easy_cleanup(raw)
        errorText.deallocate()
    }

    /// Makes the handle as new; connections, TLS sessions and memory stay.
    func reset() {
        curl_easy_reset(raw)
        errorText.pointee = 0
        refusal = nil
        head.reset()
        body.trim()
        requestBody.trim()
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

/// Handles at rest; their making costs more than a reset.
///
/// Thread: its loop's.
struct HandlePool {
    private var handles: [EasyHandle] = []
    private var lent = 0
    private var peak = 0
    private var returns = 0

    /// A handle as new; `nil` when memory is short.
    mutating func take() -> EasyHandle? {
        lent += 1
        peak = max(peak, lent)
        if let handle = handles.popLast() { return handle }
        guard let handle = EasyHandle() else {
            lent -= 1
            return nil
        }
        return handle
    }

    /// Takes a handle back that no multi handle holds any more.
    mutating func put(_ handle: EasyHandle) {
        lent -= 1
        handle.reset()
        handles.append(handle)
        returns += 1
        // As many as were out at once of late, so that one burst does not keep its handles for ever.
        guard returns >= 4096 else { return }
        let keep = max(64, peak)
        if handles.count > keep { handles.removeLast(handles.count - keep) }
        returns = 0
        peak = lent
    }
}
