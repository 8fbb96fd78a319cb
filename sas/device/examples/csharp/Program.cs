// A device in C#, for .NET 8 with the package Azure.Data.Tables. Put your sensors where the temperature is.
// Readings wait in memory, oldest first, until they are stored.
using System.Net.Http.Json;
using System.Security.Cryptography;
using System.Text;
using Azure;
using Azure.Data.Tables;

const string endpoint = "https://furrow.example:10080", device = "pump-7", enrollment = "plant1";
var key = Convert.FromBase64String(Environment.GetEnvironmentVariable("FURROW_DEVICE_KEY")!);
var boot = Convert.ToHexString(RandomNumberGenerator.GetBytes(4)).ToLowerInvariant();
var http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };
var waiting = new Queue<TableEntity>();
Token? token = null;
var urgent = false; // a reading that is not to wait until the next one is expected
for (var number = 1; ; number++, await Task.Delay(TimeSpan.FromMinutes(1)))
{
    // Ticks are .NET's own. The row key never changes, so that sending again stores nothing twice.
    var row = $"{DateTimeOffset.UtcNow.UtcTicks:D19}-{boot}.{number}";
    var temperature = 21.5;
    waiting.Enqueue(new TableEntity(device, row) { ["temperature"] = temperature });
    urgent |= temperature > 60;
    try
    {
        if (token is null || DateTimeOffset.UtcNow > token.RenewAfter) token = await GetToken();
        while (waiting.TryPeek(out var reading)) // one after the other, in order
        {
            if (string.CompareOrdinal(reading.RowKey, token.LatestRowKey) > 0) break; // a later token admits it
            if (string.CompareOrdinal(reading.RowKey, token.EarliestRowKey) < 0)
                Console.Error.WriteLine($"{reading.RowKey} is too old for every token: import it");
            else
                await Store(token, reading);
            waiting.Dequeue();
        }
        if (urgent && waiting.Count == 0) // what is urgent is stored: have the next run look at this device
        {
            token = await GetToken(ring: true);
            urgent = false;
        }
    }
    catch (RequestFailedException e) when (e.Status is 401 or 403) { token = null; } // revoked: ask for another
    catch (Exception e) { Console.Error.WriteLine(e.Message); } // try again with the next reading
}

async Task<Token> GetToken(bool ring = false)
{
    var resource = Uri.EscapeDataString($"{enrollment}/registrations/{device}");
    var expiry = DateTimeOffset.UtcNow.AddMinutes(10).ToUnixTimeSeconds();
    var signature = Convert.ToBase64String(HMACSHA256.HashData(key, Encoding.UTF8.GetBytes($"{resource}\n{expiry}")));
    var request = new HttpRequestMessage(HttpMethod.Post, $"{endpoint}/v1/devices/{device}/token");
    request.Headers.TryAddWithoutValidation("Authorization",
        $"SharedAccessSignature sr={resource}&sig={Uri.EscapeDataString(signature)}&se={expiry}");
    if (ring) request.Content = JsonContent.Create(new { ring = true });
    using var response = await http.SendAsync(request);
    return (await response.EnsureSuccessStatusCode().Content.ReadFromJsonAsync<Token>())!;
}

static async Task Store(Token token, TableEntity reading)
{
    try { await new TableClient(new Uri(token.Url), new AzureSasCredential(token.Sas)).AddEntityAsync(reading); }
    catch (RequestFailedException e) when (e.ErrorCode == "EntityAlreadyExists") { } // an earlier attempt stored it
}

record Token(string Url, string Sas, string EarliestRowKey, string LatestRowKey, DateTimeOffset RenewAfter);
