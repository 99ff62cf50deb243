internal import COpenSSL

/// What the process asks of OpenSSL as a whole.
public enum TLSLibrary {
    /// Keeps OpenSSL from freeing its locks when the process exits.
    ///
    /// Its own handler runs in the exiting thread while others may still close connections, which
    /// then crash (`OPENSSL_INIT_NO_ATEXIT`, OPENSSL_init_crypto(3)). What it would free, the
    /// process's end frees. Only the first initialisation in a process counts.
    public static func keepsAtExit() {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
