# Answers 403 where a pattern of the file that BLOCK_URLS names is found in the URL: what the reference
# measured, a few lines of Perl before the request is handed on. One regular expression of all patterns:
# Perl makes a trie of its literal alternatives.
package Perlbal::Plugin::BlockUrls;
use strict;
use warnings;

my $bad;

sub load {
    open my $file, '<', $ENV{BLOCK_URLS} or die "$ENV{BLOCK_URLS}: $!";
    chomp(my @lines = <$file>);
    my $all = join '|', @lines;
    $bad = qr/$all/;
    return 1;
}

sub unload { return 1 }

sub register {
    my ($class, $service) = @_;
    $service->register_hook('BlockUrls', 'start_http_request', sub {
        my $client = shift;
        return 0 unless $client->{req_headers} && $client->{req_headers}->request_uri =~ $bad;
        $client->send_response(403, "refused\n");
        return 1;
    });
    return 1;
}

sub unregister {
    my ($class, $service) = @_;
    $service->unregister_hooks('BlockUrls');
    return 1;
}

1;
