internal import CIDN2
internal import Glibc

/// The conversions of host names and IPv6 addresses that need libidn2 or glibc.
///
/// Thread: any; no state.
package enum HostForm {
    /// The error of a name that has no ASCII form.
    package struct Failure: Error, Sendable, Equatable {
        /// The message of libidn2.
        package let reason: String
    }

    /// Converts a name to the form that DNS uses: labels outside ASCII become A-labels (`xn--…`).
    ///
    /// Converts as libcurl does (`idn_decode` in `lib/idn.c`): with non-transitional processing of
    /// Unicode TR46, and if that fails, with transitional processing. libcurl reads the name in the
    /// locale's encoding, which is ASCII in a program that does not call `setlocale`; this function
    /// reads UTF-8.
    ///
    /// - Parameter name: The name in UTF-8, without NUL.
    /// - Returns: The name in ASCII.
    /// - Throws: ``Failure`` if libidn2 rejects the name.
    package static func ascii(_ name: String) throws(Failure) -> String {
        var output: UnsafeMutablePointer<UInt8>?
        var code = lookUp(
            name, &output, Int32(IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue))
        if code != IDN2_OK.rawValue {
            code = lookUp(name, &output, Int32(IDN2_TRANSITIONAL.rawValue))
        }
        guard code == IDN2_OK.rawValue, let output else {
            throw Failure(reason: String(cString: idn2_strerror(code)))
        }
        defer { idn2_free(output) }
        return String(cString: output)
    }

    private static func lookUp(
        _ name: String, _ output: inout UnsafeMutablePointer<UInt8>?, _ flags: Int32
    ) -> Int32 {
        idn2_lookup_u8(name, &output, flags)
    }

    /// Returns the canonical form of an IPv6 address: the shortest one, in lower case (RFC 5952).
    ///
    /// - Parameter text: An address without brackets and zone.
    /// - Returns: `nil` if the text is not an IPv6 address.
    package static func ipv6(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        var form = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &form, socklen_t(form.count)) != nil else { return nil }
        return String(decoding: form.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
