internal import Glibc

/// The configuration file of ``Nginx``.
struct NginxConfiguration {
    let directory: String
    let ports: [UInt16]
    let authority: String
    let identities: [Nginx.Listener: TestCA.Identity]

    var text: String {
        // Started by root, nginx would run its workers as a user who cannot enter the directory.
        let user = geteuid() == 0 ? "user root root;" : ""
        let servers = Nginx.Listener.allCases.map(server).joined(separator: "\n")
        return """
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            error_log stderr warn;
            \(user)
            events { worker_connections 4096; }
            http {
                access_log off;
                sendfile on;
                default_type application/octet-stream;
                types { text/plain txt; application/json json; }
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                client_max_body_size 0;
                keepalive_requests 1000000;
                ssl_session_cache shared:tls:1m;
            \(servers)
            }

            """
    }

    private func server(_ listener: Nginx.Listener) -> String {
        let address = "127.0.0.1:\(ports[listener.rawValue])"
        var lines: [String]
        switch listener {
        case .plain: lines = ["listen \(address);", "listen unix:\(directory)/nginx.sock;"]
        case .plainHTTP2: lines = ["listen \(address) http2;"]
        case .tlsHTTP1: lines = ["listen \(address) ssl;"]
        case .fewStreams:
            lines = ["listen \(address) ssl http2;", "http2_max_concurrent_streams 4;"]
        default: lines = ["listen \(address) ssl http2;"]
        }
        if let identity = identities[listener] {
            lines += [
                "ssl_certificate \(identity.certificatePath);",
                "ssl_certificate_key \(identity.keyPath);",
            ]
        }
        if listener == .clientCertificate {
            lines += ["ssl_client_certificate \(authority);", "ssl_verify_client on;"]
        }
        return "server { server_name localhost;\n\(lines.joined(separator: "\n"))\n\(locations)\n}"
    }

    private var locations: String {
        let statuses = [204, 304, 400, 401, 403, 404, 429, 500, 502, 503].map {
            "location = /status/\($0) { return \($0); }"
        }
        let plain = "http://127.0.0.1:\(ports[Nginx.Listener.plain.rawValue])"
        let lines = [
            "root \(directory)/files;",
            "location = /info { default_type application/json; return 200 '\(info)\\n'; }",
            "location = /closing { default_type application/json; keepalive_timeout 0;",
            "    return 200 '\(info)\\n'; }",
            "location = /hsts { add_header Strict-Transport-Security 'max-age=3600'; return 204; }",
            "location = /kept { add_header Strict-Transport-Security 'max-age=3600';",
            "    add_header Set-Cookie 'kept=yes'; add_header Cache-Control 'public, max-age=3600';",
            "    return 200 '$request_id'; }",
            "location = /redirect { return 301 /small.txt; }",
            "location = /basic { auth_basic Outlet; auth_basic_user_file \(directory)/passwords;",
            "    try_files /small.txt =500; }",
            "location = /upload { proxy_pass \(plain)/info; proxy_set_header X-Method $request_method; }",
            "location ~ ^/socket/(?<port>[0-9]+)/ { proxy_pass http://127.0.0.1:$port;",
            "    proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade;",
            "    proxy_set_header Connection upgrade; }",
            "location /limited/ { alias \(directory)/files/; limit_rate 64k; }",
            "location = /unframed.txt { alias \(directory)/files/compressed/text.txt;",
            "    ssi on; chunked_transfer_encoding off; }",
            "location /compressed/ { gzip on; gzip_types text/plain; gzip_min_length 1; }",
        ]
        return (lines + statuses).joined(separator: "\n")
    }

    private var info: String {
        let members = [
            ("method", "$request_method"), ("uri", "$request_uri"),
            ("protocol", "$server_protocol"), ("tls", "$ssl_protocol"),
            ("session_reused", "$ssl_session_reused"), ("server_name", "$ssl_server_name"),
            ("client", "$ssl_client_s_dn"), ("connection", "$connection"),
            ("requests", "$connection_requests"), ("length", "$content_length"),
            ("user_agent", "$http_user_agent"), ("host", "$host"),
        ]
        return "{" + members.map { #""\#($0)":"\#($1)""# }.joined(separator: ",") + "}"
    }
}
